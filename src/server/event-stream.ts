import type { EventStream, StreamEvent } from '../operations/operation.ts'
import type { Exchange, ReplyHeaders } from './exchange.ts'

const heartbeatMs = 15_000
/** A reader that falls this far behind is disconnected: it can ask the list for what it missed. */
const mostUnread = 16 * 1024 * 1024

/** The first words of each stream, so that its headers go out at once. */
export const opening = ': listening\n\n'
export const heartbeat = ': still here\n\n'

export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** One server-sent event. */
export const printEvent = ({ name, id, data, raw }: StreamEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}${name === undefined ? '' : `event: ${name}\n`}data: ${raw ?? JSON.stringify(data)}\n\n`

/** Sends events until the reader leaves or falls too far behind, the source ends, or the platform stops. */
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
    // One event may be larger than that.
    if (stream.unread > mostUnread) close()
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
  // The reader may have left while we subscribed.
  if (over.signal.aborted) stop()
  else unsubscribe = stop
}
