import type { ChangeEvents } from '../../db/change-events.ts'
import { type ConnectionStatus, isUsable } from '../../model/connection.ts'
import { type ConnectionRequired, isConnectionRequired } from '../../model/connection-required.ts'
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
  readonly #changes: ChangeEvents
  readonly #closing = new AbortController()

  constructor(connections: Connections, changes: ChangeEvents) {
    this.#connections = connections
    this.#changes = changes
  }

  /** Makes a refused call again whenever its caller has connected an account, until it is no longer refused. */
  async retry<Result>(
    make: () => Promise<Result>,
    refusal: ConnectionRequired,
    options: ConnectionWaitOptions,
  ): Promise<Result> {
    let latest = refusal
    for (let isFirst = true; ; isFirst = false) {
      // Before the call, so that no change is missed while it runs.
      using watch = this.watch(options)
      try {
        return await make()
      } catch (error) {
        if (!isConnectionRequired(error)) throw error
        latest = error
      }
      const woken = await watch.woken
      if (woken === 'closing') throw new PlatformError('SHUTTING_DOWN', {})
      if (woken !== 'connected') throw latest
      if (!isFirst) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }

  /** Resolves when the waiter has a connection that is new or changed, or when the wait is over. */
  watch({ until, gone, ...waiter }: ConnectionWaitOptions): Disposable & { readonly woken: Promise<ConnectionWake> } {
    const { promise: woken, resolve } = Promise.withResolvers<ConnectionWake>()
    const left = () => resolve('left')
    const closing = () => resolve('closing')
    const stop = this.#changes.subscribe('connections', async (ids) => {
      if (await this.#concerns(ids, waiter)) resolve('connected')
    })
    const timer = setTimeout(() => resolve('late'), until - Date.now())
    for (const signal of gone) signal?.addEventListener('abort', left)
    this.#closing.signal.addEventListener('abort', closing)
    if (gone.some((signal) => signal?.aborted)) left()
    if (this.#closing.signal.aborted) closing()
    return {
      woken,
      [Symbol.dispose]: () => {
        stop()
        clearTimeout(timer)
        for (const signal of gone) signal?.removeEventListener('abort', left)
        this.#closing.signal.removeEventListener('abort', closing)
      },
    }
  }

  /** Without ids, events may have been lost. */
  async #concerns(ids: readonly string[], { projectId, endUserId }: Waiter): Promise<boolean> {
    if (ids.length === 0) return true
    const owners = ['project', ownerKey({ kind: 'user', id: endUserId })]
    // If the database fails now, the call finds out.
    const rows = await Promise.all(ids.map((id) => this.#connections.findRow(id))).catch(() => undefined)
    return (
      rows === undefined ||
      rows.some(
        (row) =>
          row?.project_id === projectId && owners.includes(row.owner) && isUsable(row.status as ConnectionStatus),
      )
    )
  }

  /** Ends all waits, because the platform is shutting down. */
  close(): void {
    this.#closing.abort()
  }
}
