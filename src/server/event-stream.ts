import { encodeEvent } from '../lib/server-sent-event.ts'
import type { EventStream, StreamEvent } from '../operations/operation.ts'
import type { Exchange, ReplyHeaders } from './exchange.ts'

const heartbeatMs = 15_000
/** A client that falls this far behind is disconnected. It can fetch what it missed from the list. */
const maxUnread = 16 * 1024 * 1024

/** A comment at the start of each stream, so that the headers are sent immediately. */
export const opening = ': listening\n\n'
export const heartbeat = ': still here\n\n'

export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export const printEvent = ({ name, id, data, raw }: StreamEvent): string =>
  encodeEvent(raw ?? JSON.stringify(data), { name, id })

/** Sends events until the client disconnects or falls too far behind, the source ends, or the platform stops. */
export async function sendEvents(
  exchange: Exchange,
  source: EventStream,
  headers: ReplyHeaders,
  closing: AbortSignal,
): Promise<void> {
  const stream = exchange.stream(200, { ...headers, ...streamHeaders })
  const over = new AbortController()
  const close = () => over.abort()
  const write = (text: string) => {
    if (over.signal.aborted) return
    // A single event can exceed the limit.
    if (stream.unread > maxUnread) close()
    else stream.write(text)
  }
  const beat = setInterval(() => write(heartbeat), heartbeatMs)
  let unsubscribe = () => {}
  over.signal.addEventListener('abort', () => {
    clearInterval(beat)
    closing.removeEventListener('abort', close)
    unsubscribe()
    stream.end()
  })
  closing.addEventListener('abort', close)
  exchange.gone.addEventListener('abort', close)
  write(opening)
  const stop = await source.subscribe((event) => write(printEvent(event)), close)
  // The client may have disconnected during subscribe.
  if (over.signal.aborted) stop()
  else unsubscribe = stop
}
