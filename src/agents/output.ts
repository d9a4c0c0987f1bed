import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { knownError } from '../model/database-unavailable.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import { mostCharacters, type Picture, pictureIn, withPictures } from '../model/picture.ts'
import type { Output } from '../model/tool.ts'

/** How many pictures of one result a model gets to see. */
const mostPictures = 4

/**
 * What a model is told that a call gave. Of an MCP result that is its text, in which pictures and sound are named; and
 * pictures, for models that look at them.
 */
export function toldOf({ shape, value }: Output): Json {
  if (shape !== 'mcp' || !isObject(value)) return value
  const { content, structuredContent } = value as { content?: Json; structuredContent?: Json }
  const parts = Array.isArray(content) ? content.filter(isObject).map((part) => part as JsonObject) : []
  const texts = parts.map(textOf)
  if (texts.length === 0) return structuredContent ?? '(no content)'
  return withPictures(texts.join('\n\n'), picturesOf(parts))
}

/** The first ones, and together no more than one may be alone: the journal of a run keeps them all. */
function picturesOf(parts: readonly JsonObject[]): Picture[] {
  let left = mostCharacters
  const fitting = parts.flatMap((part) => {
    const picture = pictureIn(part)
    if (!picture || picture.data.length > left) return []
    left -= picture.data.length
    return [picture]
  })
  return fitting.slice(0, mostPictures)
}

function textOf(part: JsonObject): string {
  if (part.type === 'text') return String(part.text ?? '')
  if (part.type === 'resource' && isObject(part.resource)) {
    const { blob, text, ...rest } = part.resource as JsonObject
    return typeof text === 'string'
      ? text
      : JSON.stringify({ ...rest, ...(blob !== undefined && { blob: '(left out)' }) })
  }
  if (typeof part.data === 'string') {
    return `(${String(part.type)}, ${String(part.mimeType ?? 'of unknown type')}, ${Math.floor(part.data.length * 0.75)} bytes)`
  }
  return JSON.stringify(part)
}

/** A failing call is something the model sees, and can do something about. */
export const toldOfError = (error: unknown): JsonObject =>
  errorBody(knownError(error) ?? new PlatformError('INTERNAL', {})) as unknown as JsonObject
