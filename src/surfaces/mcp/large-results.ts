import { z } from 'zod'
import { countCharacters, firstBytes, wholeSlice } from '../../lib/characters.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { firstItems, listIn } from '../../lib/json-list.ts'
import { PlatformError } from '../../model/errors.ts'
import { Id } from '../../model/page.ts'
import type { Server } from '../../model/server.ts'
import type { Output } from '../../model/tool.ts'
import { parseInput } from '../../operations/operation.ts'
import { inputSchemaOf } from './listing.ts'
import { asks, type ToolResult, textBlock, toResult } from './results.ts'
import type { CallOutput, ServerRequest } from './server-request.ts'

const Read = z.strictObject({
  result_id: Id.describe('The result_id that came with the start of the result: res_…'),
  offset: z.int().min(0).max(1e9).default(0).describe('Number of characters to skip'),
  length: z.int().min(1).max(1e9).optional().describe('Number of characters to read; defaults to the server’s limit'),
})

/** Lets a model read the rest of a result that was too large to return at once. */
export const readResultTool: JsonObject = {
  name: 'READ_RESULT',
  description:
    'Reads part of a result that was too large to return at once. Such a result comes with a result_id and the offset to continue from. Read only as much as you need.',
  inputSchema: inputSchemaOf(Read),
  annotations: { readOnlyHint: true },
}

/** A result that exceeds the limit of its server. */
export interface LargeResult {
  /** Where the text is stored, if it exceeds the limit. */
  readonly kept: { readonly summary: string; readonly result_id: string; readonly next_offset: number } | undefined
  /** The full text, or the beginning of a stored one. */
  readonly text: string
  /** Content that cannot be truncated, such as images. Returned unchanged. */
  readonly others: readonly Json[]
}

/** Stores the text of a result that exceeds the limit of its server; undefined for a small result. */
export async function keptIfLarge(
  { callId, output }: CallOutput,
  request: ServerRequest,
): Promise<LargeResult | undefined> {
  const { result_limit: limit } = request.server
  if (limit === null || fits(output, request.server)) return undefined
  const { text, value, others } = parted(output)
  if (!isLonger(text, limit)) return { kept: undefined, text, others }

  const bytes = Buffer.byteLength(text)
  const id = await request.keepResult(callId, { text, bytes, characters: countCharacters(text) })
  const summary = `${describe(value ?? parsed(text), text)}, ${bytes} bytes`
  // Half a list item is of no use, so a list ends with a whole one.
  const list = value === undefined ? undefined : firstItems(value, limit - roomForSummary)
  if (list && text.startsWith(`${list.start},`)) {
    const said = `${summary}. These are the first ${list.kept} of ${list.total} items; ${list.total - list.kept} are left out`
    const offset = countCharacters(list.start) + 1
    return { kept: { summary: said, result_id: id, next_offset: offset }, text: list.text, others }
  }
  const beginning = firstBytes(text, Math.min(Math.floor(limit / 2), longestBeginning))
  return { kept: { summary, result_id: id, next_offset: countCharacters(beginning) }, text: beginning, others }
}

/** The bytes that the description of a truncated result takes up. */
const roomForSummary = 500

/** The JSON of a result is never shorter than its text. */
export const fits = (output: Output, { result_limit: limit }: Pick<Server, 'result_limit'>): boolean =>
  limit === null || asks(output) || !isLonger(output.text, limit)

const longestBeginning = 4000

/** Truncates the result of a direct call. Structured content is dropped, because it repeats the same data. */
export async function cutToFit(answered: CallOutput, request: ServerRequest): Promise<ToolResult> {
  const whole = toResult(answered.output)
  const large = await keptIfLarge(answered, request)
  if (!large?.kept) return whole
  const { structuredContent: _, ...rest } = whole
  const { summary, result_id, next_offset: offset } = large.kept
  const said = `This result is too large to return at once: ${summary}. It is stored for a day. This is the start; to continue, call READ_RESULT with ${JSON.stringify({ result_id, offset })}.`
  const { note } = answered.output
  const blocks = [textBlock(said), textBlock(large.text), ...(note === undefined ? [] : [textBlock(note)])]
  return { ...rest, content: [...blocks, ...large.others] }
}

export async function readResult(input: unknown, request: ServerRequest): Promise<ToolResult> {
  const { result_id: id, offset, length } = parseInput(Read, input)
  const most = request.server.result_limit ?? longestBeginning
  const found = await request.readResult(id, { offset, length: Math.min(length ?? most, most) })
  if (!found) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'result', id })
  const total = found.characters
  if (offset >= total) {
    const message = `is beyond the end: the result has ${total} characters`
    throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'offset', message }] })
  }
  const part = firstBytes(found.part, most)
  const end = offset + countCharacters(part)
  const onwards = end < total ? `Continue with offset ${end}.` : 'This is the end of the result.'
  return { content: [textBlock(part), textBlock(`Characters ${offset} to ${end} of ${total}. ${onwards}`)] }
}

/** Separates the text of a result from what cannot be truncated. */
function parted({ value, text, shape }: Output): { text: string; value?: Json; others: Json[] } {
  if (shape !== 'mcp' || !isObject(value)) {
    if (typeof value === 'string') return { text: keepable(value), others: [] }
    // A list is cut between its items, which needs JSON without whitespace.
    return { text: keepable(listIn(value) ? JSON.stringify(value) : text), value, others: [] }
  }
  const content = (value.content ?? []) as JsonObject[]
  const texts = content.filter((block) => !isOpaque(block)).map(textOf)
  const structured = value.structuredContent
  if (structured !== undefined && !texts.some((one) => says(one, structured))) texts.push(JSON.stringify(structured))
  return { text: keepable(texts.join('\n\n')), others: content.filter(isOpaque) }
}

/** An image, audio, or a binary resource. */
const isOpaque = ({ type, resource }: JsonObject): boolean =>
  type === 'image' || type === 'audio' || (isObject(resource) && typeof resource.blob === 'string')

function textOf(block: JsonObject): string {
  const { type, text, resource } = block
  if (type === 'text' && typeof text === 'string') return text
  return isObject(resource) && typeof resource.text === 'string'
    ? `${resource.uri}\n${resource.text}`
    : JSON.stringify(block)
}

/** Most servers repeat structured content as text. */
const says = (text: string, structured: Json): boolean => {
  const value = parsed(text)
  return value !== undefined && JSON.stringify(value) === JSON.stringify(structured)
}

function parsed(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Text that every database can store and counts the same way. */
const keepable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD')

const isLonger = (text: string, bytes: number): boolean =>
  text.length > bytes || (text.length * 3 > bytes && Buffer.byteLength(text) > bytes)

function describe(value: Json | undefined, text: string): string {
  if (Array.isArray(value)) return `a JSON array of ${value.length} items`
  if (isObject(value)) return `a JSON object with the keys ${keysOf(value)}`
  return `a text of ${text.split('\n').length} lines`
}

const longestKeys = 200

function keysOf(value: JsonObject): string {
  const entries = Object.entries(value)
  const named: string[] = []
  let length = 0
  for (const [key, inner] of entries) {
    const one = `${JSON.stringify(wholeSlice(key, 60))}${Array.isArray(inner) ? ` (an array of ${inner.length})` : ''}`
    length += one.length
    if (length > longestKeys) break
    named.push(one)
  }
  const more = entries.length - named.length
  return named.join(', ') + (more > 0 ? ` and ${more} more` : '')
}
