import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import type { XmlResult } from '../model/xml-result.ts'
import type { Block, Quotation, XmlCall } from '../xml/index.ts'

type ErrorClass = NonNullable<XmlResult['error_class']>

/** Which of the three kinds of errors this is, so that a model knows whether to correct its input, ask, or retry. */
export function errorClassOf({ status, entry: { recorded } }: PlatformError): ErrorClass {
  if (recorded === 'permission_denied' || recorded === 'rejected' || status === 401 || status === 403)
    return 'permission'
  const isCallersFault = recorded === 'validation_error' || [400, 404, 413, 422].includes(status)
  return isCallersFault ? 'invalid_parameters' : 'server'
}

const partsOf = ({ tag, parameters }: Block) => ({
  tag,
  server_name: parameters.server_name ?? null,
  tool_name: parameters.tool_name ?? null,
  uri: parameters.uri ?? null,
})

/** The result of a tool as text. An error that the tool reports is the tool's own text, marked as an error. */
export function toolResult(call: XmlCall, result: JsonObject & { content: Json[]; isError?: boolean }): XmlResult {
  const blocks = result.content.filter(isObject)
  const images = blocks.flatMap(({ type, data, mimeType }) =>
    type === 'image' ? [{ mime_type: String(mimeType), data: String(data) }] : [],
  )
  const text = blocks.flatMap(toText).join('\n\n') || '(No response)'
  const isError = result.isError === true
  return {
    ...partsOf(call),
    status: isError ? 'error' : 'success',
    text: isError ? `Error:\n${text}` : text,
    ...(images.length > 0 && { images }),
    ...(isError && { error_class: 'server' as const, error: errorBody(new PlatformError('TOOL_FAILED', {})).error }),
  }
}

function toText(block: JsonObject): string[] {
  if (block.type === 'text') return [String(block.text)]
  if (block.type === 'resource' && isObject(block.resource)) {
    const { blob: _, ...resource } = block.resource
    return [JSON.stringify(resource, null, 2)]
  }
  if (block.type === 'resource_link') return [`${String(block.name)}: ${String(block.uri)}`]
  return []
}

/** The content of a resource: its texts, and its images. Other binary content is left out. */
export function resourceResult(call: XmlCall, { contents }: JsonObject): XmlResult {
  const all = Array.isArray(contents) ? contents.filter(isObject) : []
  const content = all.map(({ uri, mimeType, text, blob }): JsonObject => {
    if (typeof text === 'string') return { type: 'text', text }
    if (String(mimeType).startsWith('image/')) return { type: 'image', mimeType: String(mimeType), data: String(blob) }
    return { type: 'text', text: `(${String(uri)}: binary content of type ${String(mimeType ?? 'unknown')})` }
  })
  return toolResult(call, { content })
}

export function errorResult(block: Block, error: PlatformError): XmlResult {
  const body = errorBody(error)
  const errorClass = errorClassOf(error)
  return {
    ...partsOf(block),
    status: errorClass === 'permission' ? 'denied' : 'error',
    text: `Error:\n${JSON.stringify(body)}`,
    error: body.error,
    error_class: errorClass,
  }
}

export const skippedResult = (block: Block, text: string): XmlResult => ({ ...partsOf(block), status: 'skipped', text })

export const quotedText = (inside: Quotation): string =>
  inside === 'code fence'
    ? 'Not run: this block is in a code fence. Send it without the fence to run it.'
    : `Not run: this block is in ${inside === 'comment' ? 'a comment' : 'inline code'}.`

export const afterFailure =
  'Not run: an earlier block of this message failed. Read its error, then send the blocks that are still needed.'

/** The message to send to the model: a heading and the text of each result. */
export const replyText = (results: readonly XmlResult[]): string =>
  results
    .map(({ tag, server_name: server, text }) => `[${tag}${server ? ` for '${server}'` : ''}] Result:\n${text}`)
    .join('\n\n')
