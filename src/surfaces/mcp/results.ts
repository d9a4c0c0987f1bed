import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { errorBody, type PlatformError } from '../../model/errors.ts'
import type { Output } from '../../model/tool.ts'

export type ToolResult = JsonObject & { content: Json[]; isError?: boolean }

export const textBlock = (text: string): JsonObject => ({ type: 'text', text })

export const textResult = (text: string, isError = false): ToolResult => ({
  content: [textBlock(text)],
  ...(isError && { isError }),
})

/** Serialized results that are long enough that a lookup is cheaper than serializing them again for the call log. */
const printed = new WeakMap<JsonObject, string>()
const worthKeeping = 2000

export const print = (result: JsonObject): string => printed.get(result) ?? JSON.stringify(result)

/** The result of an MCP server is returned unchanged. Anything else is returned as text. */
export function toResult({ value, text, shape, note }: Output): ToolResult {
  if (shape !== 'mcp') {
    const blocks = [textBlock(typeof value === 'string' ? value : text)]
    return { content: note === undefined ? blocks : [...blocks, textBlock(note)] }
  }
  if (text.length >= worthKeeping) printed.set(value as JsonObject, text)
  return value as ToolResult
}

/** Errors are returned as results, so that the model sees them and can react. */
export const toErrorResult = (error: PlatformError): ToolResult => textResult(JSON.stringify(errorBody(error)), true)

/** Whether an MCP server needs input from the client before it can return a result. */
export const asks = ({ value, shape }: Output): boolean =>
  shape === 'mcp' && isObject(value) && value.resultType === 'input_required'
