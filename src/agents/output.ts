import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { knownError } from '../model/database-unavailable.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import { maxCharacters, type Picture, pictureIn, withPictures } from '../model/picture.ts'
import type { Output } from '../model/tool.ts'

/** How many pictures of one result are sent to the model. */
const maxPictures = 4

/**
 * The output of a call as the model receives it. For an MCP result this is its text, with placeholders for images and
 * audio, plus the pictures for models that support them.
 */
export function outputForModel({ shape, value, note }: Output): Json {
  if (shape !== 'mcp' || !isObject(value)) return note === undefined ? value : { result: value, note }
  const { content, structuredContent } = value as { content?: Json; structuredContent?: Json }
  const parts = Array.isArray(content) ? content.filter(isObject) : []
  const texts = parts.map(textOf)
  if (texts.length === 0) return structuredContent ?? '(no content)'
  return withPictures(texts.join('\n\n'), picturesOf(parts))
}

/** The first ones. Together they are limited to the size of a single picture, because the journal stores them all. */
function picturesOf(parts: readonly JsonObject[]): Picture[] {
  let left = maxCharacters
  const fitting = parts.flatMap((part) => {
    const picture = pictureIn(part)
    if (!picture || picture.data.length > left) return []
    left -= picture.data.length
    return [picture]
  })
  return fitting.slice(0, maxPictures)
}

function textOf(part: JsonObject): string {
  if (part.type === 'text') return String(part.text ?? '')
  if (part.type === 'resource' && isObject(part.resource)) {
    const { blob, text, ...rest } = part.resource
    return typeof text === 'string'
      ? text
      : JSON.stringify({ ...rest, ...(blob !== undefined && { blob: '(left out)' }) })
  }
  if (typeof part.data === 'string') {
    return `(${String(part.type)}, ${String(part.mimeType ?? 'of unknown type')}, ${Math.floor(part.data.length * 0.75)} bytes)`
  }
  return JSON.stringify(part)
}

/** The model sees errors of its calls, so that it can react to them. */
export const errorForModel = (error: unknown): JsonObject =>
  errorBody(knownError(error) ?? new PlatformError('INTERNAL', {})) as unknown as JsonObject
