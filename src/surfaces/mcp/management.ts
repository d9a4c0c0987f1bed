import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { mayEver } from '../../access/evaluate.ts'
import { unaliased } from '../../catalogue/presets.ts'
import type { JsonObject } from '../../lib/json.ts'
import { didYouMean } from '../../lib/nearest.ts'
import { PlatformError } from '../../model/errors.ts'
import { type Context, isAction, JsonText } from '../../operations/operation.ts'
import { type ToolResult, textResult, toErrorResult } from './results.ts'

/** Operations that some policy of the caller allows. */
const usable = ({ principal, operations }: Context) =>
  [...operations.values()].filter((operation) => isAction(operation) && mayEver(principal, operation.permission))

/** The platform's own endpoint: every operation that the caller can use is a tool. */
export function listOperations(context: Context): JsonObject[] {
  return usable(context).flatMap(({ name, route }) => {
    const action = context.toolDeps.platformActions.get(name)
    if (!action) return []
    const readOnlyHint = route.startsWith('GET ')
    const annotations = { readOnlyHint, destructiveHint: route.startsWith('DELETE ') }
    return [{ name, description: action.description, inputSchema: action.schema, annotations }]
  })
}

export async function callOperation(name: string, input: JsonObject, context: Context): Promise<ToolResult> {
  const operation = usable(context).find((one) => one.name === name)
  if (!operation) {
    const hint = didYouMean(name, [...context.toolDeps.platformActions.keys()])
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `There is no tool "${name.slice(0, 200).toWellFormed()}" here.${hint}`,
    )
  }
  try {
    const result = await operation.perform(unaliased(input, { schema: {}, aliases: operation.aliases }), context)
    return textResult(result instanceof JsonText ? result.text : JSON.stringify(result ?? null))
  } catch (error) {
    if (error instanceof PlatformError) return toErrorResult(error)
    throw error
  }
}
