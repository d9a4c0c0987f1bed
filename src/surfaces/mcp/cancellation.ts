import type { ChangeEvents } from '../../db/change-events.ts'
import { isObject } from '../../lib/json.ts'

/** Longer keys are not ours, and would not fit into a change event. */
const longestKey = 2000

/**
 * Running calls of 2025 clients. Such a client cancels in a separate request and keeps its connection open. That
 * request may reach another process, so it is published to all of them.
 */
export class Cancellation {
  readonly #running = new Map<string, () => void>()
  readonly #changes: ChangeEvents

  constructor(changes: ChangeEvents) {
    this.#changes = changes
    changes.subscribe('cancelled', (keys) => {
      for (const key of keys) this.#running.get(key)?.()
    })
  }

  /** Runs a call that can be cancelled. Request ids are unique within a session. */
  async run<T>(call: RunningCall, cancel: () => void, work: () => Promise<T>): Promise<T> {
    const key = keyOf(call)
    if (key === undefined) return work()
    this.#running.set(key, cancel)
    try {
      return await work()
    } finally {
      if (this.#running.get(key) === cancel) this.#running.delete(key)
    }
  }

  async cancel(call: RunningCall): Promise<void> {
    const key = keyOf(call)
    if (key !== undefined) await this.#changes.publish('cancelled', [key])
  }
}

interface RunningCall {
  readonly principalId: string
  readonly session: string | null
  readonly id: unknown
}

function keyOf({ principalId, session, id }: RunningCall): string | undefined {
  if (session === null) return undefined
  const key = JSON.stringify([principalId, session, id])
  return key.length <= longestKey ? key : undefined
}

/** The id of the request that a cancellation is for; undefined for other messages. */
export const givenUp = (body: unknown): unknown =>
  isObject(body) && body.method === 'notifications/cancelled' && isObject(body.params)
    ? body.params.requestId
    : undefined
