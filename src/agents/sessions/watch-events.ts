import type { SessionEvent } from '../../model/session.ts'
import type { EventFilter } from '../../store/sessions.ts'
import type { Store } from '../../store/store.ts'

/** Change events can be lost, so waiting readers also poll. */
const pollMs = 2000
const page = 200

/**
 * Reads events as they are appended. Calls `read` whenever there may be new ones, never twice at the same time. Returns a
 * function that stops it.
 */
function onEvents(store: Store, sessionId: string, read: () => Promise<unknown>): () => void {
  let isReading = false
  let again = false
  let stopped = false
  const check = async () => {
    again = true
    if (isReading) return
    isReading = true
    while (again && !stopped) {
      again = false
      // If the database does not answer, the next poll tries again.
      await read().catch(() => {})
    }
    isReading = false
  }
  const stop = store.changes.subscribe('sessions', (ids) => {
    if (ids.length === 0 || ids.includes(sessionId)) void check()
  })
  const timer = setInterval(() => void check(), pollMs)
  void check()
  return () => {
    stopped = true
    stop()
    clearInterval(timer)
  }
}

/** The events that match, or none if there are none within `milliseconds`, or the caller or the platform is gone. */
export async function waitForEvents(
  store: Store,
  sessionId: string,
  filter: EventFilter,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<SessionEvent[]> {
  const first = await store.sessions.events(sessionId, filter)
  if (first.length > 0 || milliseconds === 0 || signal?.aborted) return first
  const { promise, resolve } = Promise.withResolvers<SessionEvent[]>()
  const end = () => resolve([])
  const timer = setTimeout(end, milliseconds)
  signal?.addEventListener('abort', end)
  const stop = onEvents(store, sessionId, async () => {
    const found = await store.sessions.events(sessionId, filter)
    if (found.length > 0) resolve(found)
  })
  try {
    return await promise
  } finally {
    stop()
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
}

/** Sends all events that match, from `min_offset` on, until the returned function is called. */
export function watchEvents(
  store: Store,
  sessionId: string,
  filter: Omit<EventFilter, 'limit'>,
  send: (event: SessionEvent) => void,
): () => void {
  let next = filter.min_offset
  return onEvents(store, sessionId, async () => {
    for (;;) {
      const events = await store.sessions.events(sessionId, { ...filter, min_offset: next, limit: page })
      for (const event of events) {
        next = event.offset + 1
        send(event)
      }
      if (events.length < page) return
    }
  })
}
