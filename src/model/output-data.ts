import { isObject, type Json } from '../lib/json.ts'
import type { Output } from './tool.ts'

/** The output of a call as data, without the envelope of MCP. */
export function dataOf({ value, shape }: Output): Json {
  if (shape !== 'mcp' || !isObject(value)) return value
  if (value.structuredContent !== undefined) return value.structuredContent
  const content = Array.isArray(value.content) ? value.content : []
  const [only] = content
  if (content.length !== 1 || !isObject(only) || only.type !== 'text') return content
  try {
    return JSON.parse(String(only.text))
  } catch {
    return String(only.text)
  }
}
