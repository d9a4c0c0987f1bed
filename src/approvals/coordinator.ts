import { KeyedMutex } from '../lib/keyed-mutex.ts'
import type { Approval } from '../model/approval.ts'
import { PlatformError } from '../model/errors.ts'
import type { ApprovalDraft, Approvals } from '../store/approvals.ts'
import type { Store } from '../store/store.ts'
import type { ApprovalRequirement } from './gates.ts'
import { RuleCache } from './rule-cache.ts'

export interface ApprovalOptions {
  /** The approval timeout if no rule, tool, server or project sets one. */
  readonly defaultSeconds: number
  /** The maximum number of pending approvals per key. */
  readonly maxPending: number
  /** The platform's public URL, if the operator set one. */
  readonly publicUrl: string | undefined
  /** Called with each new approval, with its secrets hidden, to send notifications. Must not throw. */
  onRequested?(approval: Approval): void
}

/** Why a wait ended: the approval may have changed, it timed out, the caller left, or the platform is shutting down. */
export type WakeReason = 'changed' | 'late' | 'left' | 'closing'

/** A change event can be lost when a connection breaks, so waiting calls also poll at this interval. */
const pollMs = 30_000

/** Lets calls wait for approval, and wakes them when a decision is made in any process. */
export class ApprovalCoordinator {
  readonly rules: RuleCache
  readonly store: Approvals
  readonly options: ApprovalOptions
  /** Serializes requests for the same call, and those of the same caller. */
  readonly requests = new KeyedMutex()
  readonly #projects: Store['projects']
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #closing = new AbortController()

  constructor(store: Store, options: ApprovalOptions) {
    this.rules = new RuleCache(store)
    this.store = store.approvals
    this.#projects = store.projects
    this.options = options
    store.changes.subscribe('approvals', (ids) => {
      for (const id of ids.length === 0 ? [...this.#waiting.keys()] : ids) {
        for (const wake of this.#waiting.get(id) ?? []) wake()
      }
    })
  }

  /**
   * Calls `check` immediately and whenever the approval may have changed, until it returns a value. Changes that happen
   * while `check` runs are not missed.
   */
  async watch<T>(
    { id, expires_at }: Approval,
    gone: readonly AbortSignal[],
    check: (woken: WakeReason | 'first') => Promise<T | undefined>,
  ): Promise<T> {
    let next = Promise.withResolvers<WakeReason>()
    const wake = (why: WakeReason) => next.resolve(why)
    const changed = () => wake('changed')
    const left = () => wake('left')
    const closing = () => wake('closing')
    const waiting = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, waiting.add(changed))
    for (const signal of gone) signal.addEventListener('abort', left)
    this.#closing.signal.addEventListener('abort', closing)
    // Timers can fire slightly early, before the approval has expired.
    const timer = setTimeout(() => wake('late'), Date.parse(expires_at) - Date.now() + 10)
    const poll = setInterval(changed, pollMs)
    try {
      for (let woken: WakeReason | 'first' = 'first'; ; woken = await next.promise) {
        next = Promise.withResolvers()
        const answer = await check(woken)
        if (answer !== undefined) return answer
        if (gone.some((signal) => signal.aborted)) left()
        else if (this.#closing.signal.aborted) closing()
      }
    } finally {
      clearTimeout(timer)
      clearInterval(poll)
      for (const signal of gone) signal.removeEventListener('abort', left)
      this.#closing.signal.removeEventListener('abort', closing)
      waiting.delete(changed)
      if (waiting.size === 0) this.#waiting.delete(id)
    }
  }

  /**
   * Creates an approval; returns undefined if the same call already has an open one. Throws if the caller has too many
   * pending approvals. Requests of one caller are serialized so that the limit holds within a process. Across replicas,
   * concurrent requests can exceed it.
   */
  create(draft: ApprovalDraft): Promise<Approval | undefined> {
    const { principal, action } = draft
    const limit = this.options.maxPending
    return this.requests.run(principal.id, async () => {
      if ((await this.store.countPending(principal.id)) >= limit) {
        throw new PlatformError('TOO_MANY_APPROVALS', { action, limit })
      }
      return this.store.create(draft)
    })
  }

  /** The timeout of an approval. */
  async secondsFor({ seconds }: ApprovalRequirement, projectId: string): Promise<number> {
    if (seconds !== null) return seconds
    return (await this.#projects.find(projectId))?.approval_timeout_seconds ?? this.options.defaultSeconds
  }

  /** Whether a call that was begun may have had its effect: it needed no approval, or its grant was taken. */
  async mayHaveRun(callId: string): Promise<boolean> {
    const approval = await this.store.findByCall(callId)
    return approval === undefined || approval.status === 'used'
  }

  /** The URL of the dashboard page to review the approval. */
  linkTo({ id }: Pick<Approval, 'id'>, home: string | undefined): string | undefined {
    const base = this.options.publicUrl ?? home
    return base && `${base.replace(/\/+$/, '')}/approvals/${id}`
  }

  /** Ends all waits with `SHUTTING_DOWN`. The approvals themselves stay open. */
  close(): void {
    this.#closing.abort()
  }
}
