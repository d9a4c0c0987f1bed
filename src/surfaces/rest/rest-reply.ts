import { type Download, type EventStream, isEventStream, JsonText, type Operation } from '../../operations/operation.ts'
import { sendEvents } from '../../server/event-stream.ts'
import { type Exchange, type ReplyHeaders, sendJson } from '../../server/exchange.ts'

export interface RestReply {
  readonly status: number
  readonly headers?: ReplyHeaders
  readonly text?: string
  readonly events?: EventStream
  readonly download?: Download
}

export function replyOf({ status, answers }: Operation, result: unknown): RestReply {
  if (result instanceof JsonText && result.status === 204) return { status: 204 }
  if (result instanceof JsonText) return { status: result.status ?? status, text: result.text, headers: noted(result) }
  if (status === 204) return { status }
  if (answers === 'bytes') return { status: 200, download: result as Download }
  if (isEventStream(result)) return { status: 200, events: result }
  return { status, text: JSON.stringify(result) }
}

/** The body is the output of the tool and nothing else, so a note about it is a header: text that a header can carry. */
const noted = ({ note }: JsonText): ReplyHeaders =>
  note === undefined
    ? {}
    : {
        'quartermaster-note': note
          .slice(0, 4000)
          .toWellFormed()
          .replaceAll(/[^\x20-\x7e]/gu, encodeURIComponent),
      }

export async function sendReply(
  exchange: Exchange,
  reply: RestReply,
  limits: ReplyHeaders,
  closing: AbortSignal,
): Promise<void> {
  const { status, events, download, text } = reply
  const headers = { ...limits, ...reply.headers }
  if (events) await sendEvents(exchange, events, headers, closing)
  else if (download) await sendDownload(exchange, download, headers)
  else if (text === undefined) exchange.send(status, headers)
  else sendJson(exchange, status, text, headers)
}

async function sendDownload(exchange: Exchange, download: Download, given: ReplyHeaders): Promise<void> {
  const { bytes, contentType, size, etag, name, part } = download
  const length = part ? part.end - part.start : size
  const stream = exchange.stream(part ? 206 : 200, {
    ...given,
    'content-type': contentType,
    'accept-ranges': size === undefined ? 'none' : 'bytes',
    ...(etag && { etag }),
    // Stored files must never render as a page on our origin.
    'content-disposition': name ? `attachment; filename="${name}"` : 'attachment',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    ...(length !== undefined && { 'content-length': String(length) }),
    ...(part && { 'content-range': `bytes ${part.start}-${part.end - 1}/${size}` }),
  })
  for await (const chunk of bytes) {
    if (exchange.gone.aborted) return
    stream.write(chunk)
    await stream.drained()
  }
  stream.end()
}
