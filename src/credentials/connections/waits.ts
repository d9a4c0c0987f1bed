import type { ChangeEvents } from '../../db/change-events.ts'
import type { ConnectionRow } from '../../db/tables.ts'
import { type ConnectionStatus, isUsable } from '../../model/connection.ts'
import { isConnectionRequired } from '../../model/connection-required.ts'
import { PlatformError } from '../../model/errors.ts'
import { type Connections, ownerKey } from '../../store/connections.ts'

/** Whose connections count. */
export interface Waiter {
  readonly projectId: string
  readonly endUserId: string | null
}

export interface ConnectionWaitOptions extends Waiter {
  /** The time at which to give up. */
  readonly until: number
  /** Abort when the caller leaves. */
  readonly gone: readonly (AbortSignal | undefined)[]
}

export type ConnectionWake = 'connected' | 'late' | 'left' | 'closing'

/** A connection can change again right after it was connected, so only the first retry is immediate. */
const pauseMs = 1000

/** Lets callers wait until an account is connected, in this process or another. */
export class ConnectionWaits {
  readonly #connections: Connections
  readonly #waiting = new Set<{ readonly waiter: Waiter; wake(): void }>()
  readonly #closing = new AbortController()

  constructor(connections: Connections, changes: ChangeEvents) {
    this.#connections = connections
    changes.subscribe('connections', (ids) => void this.#changed(ids))
  }

  /**
   * Makes a call, and again whenever its caller has connected an account, until it is no longer refused. If nobody can
   * connect the account on a page, it is made once.
   */
  async retry<Result>(make: () => Promise<Result>, options: ConnectionWaitOptions): Promise<Result> {
    for (let isFirst = true; ; isFirst = false) {
      // Before the call, so that no change is missed while it runs.
      using watch = this.watch(options)
      try {
        return await make()
      } catch (error) {
        if (!isConnectionRequired(error) || error.details.connect_url === null) throw error
        const woken = await watch.woken
        if (woken === 'closing') throw new PlatformError('SHUTTING_DOWN', {})
        if (woken !== 'connected') throw error
      }
      if (!isFirst) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  /** Resolves when the waiter has a connection that is new or changed, or when the wait is over. */
  watch({ until, gone, ...waiter }: ConnectionWaitOptions): Disposable & { readonly woken: Promise<ConnectionWake> } {
    const { promise: woken, resolve } = Promise.withResolvers<ConnectionWake>()
    const left = () => resolve('left')
    const closing = () => resolve('closing')
    const entry = { waiter, wake: () => resolve('connected') }
    this.#waiting.add(entry)
    const timer = setTimeout(() => resolve('late'), until - Date.now())
    for (const signal of gone) signal?.addEventListener('abort', left)
    this.#closing.signal.addEventListener('abort', closing)
    if (gone.some((signal) => signal?.aborted)) left()
    if (this.#closing.signal.aborted) closing()
    return {
      woken,
      [Symbol.dispose]: () => {
        this.#waiting.delete(entry)
        clearTimeout(timer)
        for (const signal of gone) signal?.removeEventListener('abort', left)
        this.#closing.signal.removeEventListener('abort', closing)
      },
    }
  }

  /** Wakes those who can use a changed connection: everyone, if it is not known which have changed. */
  async #changed(ids: readonly string[]): Promise<void> {
    if (this.#waiting.size === 0) return
    const waiting = [...this.#waiting]
    // If the database fails now, the calls find out.
    const rows =
      ids.length === 0
        ? undefined
        : await Promise.all(ids.map((id) => this.#connections.findRow(id))).catch(() => undefined)
    for (const { waiter, wake } of waiting) {
      if (rows === undefined || rows.some((row) => row && canUse(row, waiter))) wake()
    }
  }

  /** Ends all waits, because the platform is shutting down. */
  close(): void {
    this.#closing.abort()
  }
}

const canUse = ({ project_id, owner, status }: ConnectionRow, { projectId, endUserId }: Waiter): boolean =>
  project_id === projectId &&
  (owner === 'project' || owner === ownerKey({ kind: 'user', id: endUserId })) &&
  isUsable(status as ConnectionStatus)
