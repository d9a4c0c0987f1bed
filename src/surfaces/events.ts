import type { EventStream } from '../operations/operation.ts'

const heartbeat = 15_000
/** A reader that falls this far behind is let go: it can ask the list for what it missed. */
const mostWaiting = 1000

/** A stream of server-sent events that ends when the reader leaves or lags too far behind, or the source or the platform stops. */
export function events(source: EventStream, given: Readonly<Record<string, string>>, closing: AbortSignal): Response {
  const encoder = new TextEncoder()
  let stop = () => {}
  let isOpen = true
  const stream = new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        const close = () => {
          isOpen = false
          stop()
          try {
            controller.close()
          } catch {
            // The reader was faster.
          }
        }
        const write = (text: string) => {
          // What was looked up while the reader left has nowhere to go.
          if (!isOpen) return
          if (-(controller.desiredSize ?? 0) > mostWaiting) close()
          else controller.enqueue(encoder.encode(text))
        }
        const beat = setInterval(() => write(': still here\n\n'), heartbeat)
        let unsubscribe = () => {}
        stop = () => {
          clearInterval(beat)
          unsubscribe()
          closing.removeEventListener('abort', close)
          stop = () => {}
        }
        closing.addEventListener('abort', close)
        write(': listening\n\n')
        unsubscribe = await source.subscribe(
          ({ name, id, data, raw }) =>
            write(
              `${id === undefined ? '' : `id: ${id}\n`}${name === undefined ? '' : `event: ${name}\n`}data: ${raw ?? JSON.stringify(data)}\n\n`,
            ),
          close,
        )
      },
      cancel() {
        isOpen = false
        stop()
      },
    },
    { highWaterMark: 1 },
  )
  return new Response(stream, {
    headers: { ...given, 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' },
  })
}
