import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { ServerAction } from '../../catalogue/server-catalogue.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { didYouMean } from '../../lib/nearest.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { executeAction, readPayload, resolveActions } from './agent-mode.ts'
import { faultOf } from './client-requests.ts'
import { executeCode } from './code-mode.ts'
import { cutToFit, fits, readResult } from './large-results.ts'
import { recordIfRefused } from './refused.ts'
import { type ToolResult, toErrorResult, toResult } from './results.ts'
import { isOutput, type ServerRequest } from './server-request.ts'
import { knowledgeIndex, loadSkill } from './skills.ts'

/** Calls a tool of a server for an MCP client. Errors become results, so that the model sees them. */
export async function callTool(
  request: ServerRequest,
  name: string,
  input: JsonObject,
  live: Live,
): Promise<ToolResult> {
  try {
    return await runTool(request, name, input, live)
  } catch (error) {
    const fault = faultOf(error, live)
    if (fault) throw fault
    if (!(error instanceof PlatformError)) throw error
    // MCP reports an unknown tool as a protocol error.
    if (error.code === 'UNKNOWN_TOOL') throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message)
    return toErrorResult(error)
  }
}

/** Calls a tool of a server, including the built-in ones for agent mode and skills. */
export async function runTool(
  request: ServerRequest,
  name: string,
  input: JsonObject,
  live: Live,
): Promise<ToolResult> {
  if (request.server.retrieve_skill && name === 'GET_KNOWLEDGE_INDEX')
    return request.internal(name, input, () => knowledgeIndex(input, request))
  if (request.server.retrieve_skill && name === 'LOAD_SKILL') return loadSkill(input, request)
  if (request.server.result_limit !== null && name === 'READ_RESULT')
    return request.internal(name, input, () => readResult(input, request))
  if (request.server.agent_mode && name === 'RESOLVE_ACTIONS')
    return request.internal(name, input, () => resolveActions(input, request))
  if (request.server.agent_mode && name === 'EXECUTE_ACTION') return executeAction(input, request, live)
  if (request.server.code_mode && name === 'EXECUTE_CODE') return executeCode(input, request, live)
  // Blocked actions go to dispatch as well, which reports why they are blocked.
  const action = request.server.agent_mode
    ? undefined
    : (request.peek(name) ?? (await request.find(name)) ?? (await request.findWithheld(name)))
  if (!action) {
    const unknown = await unknownTool(name, request)
    await request.refused('UNKNOWN_TOOL', input, unknown)
    throw unknown
  }
  const payload = isWrapped(input, action)
    ? await recordIfRefused(request, action, input, () => readPayload(input.input_payload))
    : input
  const answered = await request.call(action, payload, live)
  if (!isOutput(answered)) return answered
  return fits(answered.output, request.server) ? toResult(answered.output) : cutToFit(answered, request)
}

/** Some agents send `{ input_payload: … }` instead of the fields themselves. */
function isWrapped(input: JsonObject, { action }: ServerAction): boolean {
  if (!Object.hasOwn(input, 'input_payload') || Object.keys(input).length !== 1) return false
  const { properties } = action.schema
  return !isObject(properties) || !Object.hasOwn(properties, 'input_payload')
}

async function unknownTool(name: string, request: ServerRequest): Promise<PlatformError> {
  const hint = request.server.agent_mode
    ? ' The server is in agent mode: find actions with RESOLVE_ACTIONS and run them with EXECUTE_ACTION.'
    : didYouMean(
        name,
        (await request.named()).map(([known]) => known),
      ) || ' tools/list returns the available tools.'
  return new PlatformError('UNKNOWN_TOOL', { tool_name: name.slice(0, 200).toWellFormed(), known: [], hint })
}
