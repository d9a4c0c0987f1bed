import type { Notices } from '../../db/notices.ts'
import { isObject } from '../../lib/json.ts'

/** Longer ones are nobody's, and would not fit into a notice. */
const longestKey = 2000

/**
 * The calls of 2025 callers that run in this process. Such a caller says in a request of its own that it has given up,
 * and leaves its connection open; that request may have come to another process, so all of them are told.
 */
export class Cancelling {
  readonly #running = new Map<string, AbortController>()
  readonly #notices: Notices

  constructor(notices: Notices) {
    this.#notices = notices
    notices.hear('cancelled', (keys) => {
      for (const key of keys) this.#running.get(key)?.abort()
    })
  }

  /** Runs a call that can be given up; ids of requests are a caller's own within its session. */
  run<T>(call: Given & { readonly cancelling: AbortController }, work: () => Promise<T>): Promise<T> {
    const key = keyOf(call)
    return key === undefined ? work() : this.#run(key, call, work)
  }

  async #run<T>(key: string, call: { readonly cancelling: AbortController }, work: () => Promise<T>): Promise<T> {
    this.#running.set(key, call.cancelling)
    try {
      return await work()
    } finally {
      if (this.#running.get(key) === call.cancelling) this.#running.delete(key)
    }
  }

  async cancel(call: Given): Promise<void> {
    const key = keyOf(call)
    if (key !== undefined) await this.#notices.tell('cancelled', [key])
  }
}

interface Given {
  readonly principalId: string
  readonly session: string | null
  readonly id: unknown
}

function keyOf({ principalId, session, id }: Given): string | undefined {
  if (session === null) return undefined
  const key = JSON.stringify([principalId, session, id])
  return key.length <= longestKey ? key : undefined
}

/** Which request a caller has given up, if that is what it says. */
export const givenUp = (body: unknown): unknown =>
  isObject(body) && body.method === 'notifications/cancelled' && isObject(body.params)
    ? body.params.requestId
    : undefined
