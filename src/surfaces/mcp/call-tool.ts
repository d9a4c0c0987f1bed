import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Shelved } from '../../catalogue/shelf.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { didYouMean } from '../../lib/nearest.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { executeAction, readPayload, resolveActions } from './agent-mode.ts'
import { readResult, toFittingResult } from './large-results.ts'
import { faultOf } from './questions.ts'
import { recordIfRefused } from './refused.ts'
import { type ToolResult, toErrorResult } from './results.ts'
import { knowledgeIndex, loadSkill } from './skills.ts'
import { isAnswered, type Visit } from './visit.ts'

/** A call of one of a server's tools, its own ones for agent mode and skills among them. */
export async function callTool(one: Visit, name: string, input: JsonObject, live: Live): Promise<ToolResult> {
  if (one.server.retrieve_skill && name === 'GET_KNOWLEDGE_INDEX')
    return one.aside(name, input, () => knowledgeIndex(input, one))
  if (one.server.retrieve_skill && name === 'LOAD_SKILL') return loadSkill(input, one)
  try {
    if (one.server.result_limit !== null && name === 'READ_RESULT')
      return await one.aside(name, input, () => readResult(input, one))
    if (one.server.agent_mode && name === 'RESOLVE_ACTIONS')
      return await one.aside(name, input, () => resolveActions(input, one))
    if (one.server.agent_mode && name === 'EXECUTE_ACTION') return await executeAction(input, one, live)
    // What is withheld is called like anything else: the door says why it is not.
    const shelved = one.server.agent_mode
      ? undefined
      : (one.known(name) ?? (await one.find(name)) ?? (await one.findWithheld(name)))
    if (!shelved) {
      const unknown = await unknownTool(name, one)
      await one.refused('UNKNOWN_TOOL', input, unknown)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknown.message)
    }
    const payload = await unwrapped(input, shelved, one)
    const answered = await one.call(shelved, payload, live)
    return isAnswered(answered) ? await toFittingResult(answered, one) : answered
  } catch (error) {
    const fault = faultOf(error, live)
    if (fault) throw fault
    if (error instanceof PlatformError) return toErrorResult(error)
    throw error
  }
}

/** Some agents send `{ input_payload: … }` where the fields themselves are asked for. */
function unwrapped(input: JsonObject, shelved: Shelved, one: Visit): JsonObject | Promise<JsonObject> {
  const isWrapped = Object.keys(input).length === 1 && Object.hasOwn(input, 'input_payload')
  const { properties } = shelved.action.schema
  const isOwnField = isObject(properties) && Object.hasOwn(properties, 'input_payload')
  return isWrapped && !isOwnField ? recordIfRefused(one, shelved, input, () => readPayload(input.input_payload)) : input
}

async function unknownTool(name: string, one: Visit): Promise<PlatformError> {
  const hint = one.server.agent_mode
    ? ' It is in agent mode: find actions with RESOLVE_ACTIONS, and run them with EXECUTE_ACTION.'
    : didYouMean(
        name,
        (await one.named()).map(([known]) => known),
      ) || ' tools/list shows those there are.'
  return new PlatformError('UNKNOWN_TOOL', { tool_name: name.slice(0, 200).toWellFormed(), known: [], hint })
}
