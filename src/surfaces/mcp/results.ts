import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { errorBody, type PlatformError } from '../../model/errors.ts'
import type { Output } from '../../model/tool.ts'

/** The result of a tool, as MCP has it. */
export type ToolResult = JsonObject & { content: Json[]; isError?: boolean }

export const textBlock = (text: string): JsonObject => ({ type: 'text', text })

export const textResult = (text: string, isError = false): ToolResult => ({
  content: [textBlock(text)],
  ...(isError && { isError }),
})

/** The text of results that were printed before, for the record: of those that take longer to print than to look up. */
const printed = new WeakMap<JsonObject, string>()
const worthKeeping = 2000

export const print = (result: JsonObject): string => printed.get(result) ?? JSON.stringify(result)

/** What an MCP server answered is passed on untouched; anything else is JSON, as text. */
export function toResult({ value, text, shape }: Output): ToolResult {
  if (shape !== 'mcp') return textResult(typeof value === 'string' ? value : text)
  if (text.length >= worthKeeping) printed.set(value as JsonObject, text)
  return value as ToolResult
}

/** An error is a result too, so that the model sees it and can do something about it. */
export const toErrorResult = (error: PlatformError): ToolResult => textResult(JSON.stringify(errorBody(error)), true)

/** An MCP server that wants to know something first, which is not its answer yet. */
export const asks = ({ value, shape }: Output): boolean =>
  shape === 'mcp' && isObject(value) && value.resultType === 'input_required'

/** What an action answered, without MCP's wrapping: for those who asked for the data. */
export function dataOf({ value, shape }: Output): Json {
  if (shape !== 'mcp' || !isObject(value)) return value
  if (value.structuredContent !== undefined) return value.structuredContent as Json
  const content = (value.content ?? []) as JsonObject[]
  const [only] = content
  if (content.length !== 1 || only?.type !== 'text') return content
  try {
    return JSON.parse(String(only.text))
  } catch {
    return only.text as Json
  }
}
