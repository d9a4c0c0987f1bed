import type { Approval } from '../model/approval.ts'
import { PlatformError } from '../model/errors.ts'
import type { ApprovalDraft, Approvals } from '../store/approvals.ts'
import type { Store } from '../store/store.ts'
import type { Demand } from './gates.ts'
import { Rules } from './rules.ts'

export interface DeskOptions {
  /** How long a decision may take where neither rule, tool, server nor project says. */
  readonly seconds: number
  /** How many calls of one key may wait at once. */
  readonly mostPending: number
  /** The platform's address for people, where the operator says. */
  readonly publicUrl: string | undefined
  /** Told of each call that begins to wait, with its secrets hidden: for those who tell people. It must not throw. */
  onRequested?(approval: Approval): void
}

/** Why a wait ended: something has changed, the time is up, nobody waits any more, or the platform stops. */
export type Woken = 'changed' | 'late' | 'left' | 'closing'

/** A notice may be lost with the connection that it was told by; then the call goes on so much later. */
const patrolMs = 30_000

/** Where calls wait for people: it hears of decisions, in whichever process they are made, and wakes who waits for them. */
export class Desk {
  readonly rules: Rules
  readonly approvals: Approvals
  readonly options: DeskOptions
  readonly #projects: Store['projects']
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly #closing = new AbortController()

  constructor(store: Store, options: DeskOptions) {
    this.rules = new Rules(store)
    this.approvals = store.approvals
    this.#projects = store.projects
    this.options = options
    store.notices.hear('approvals', (ids) => {
      for (const id of ids.length === 0 ? [...this.#waiting.keys()] : ids) {
        for (const ring of this.#waiting.get(id) ?? []) ring()
      }
    })
  }

  /** Runs one after the other what is done under the same key, so that the second sees what the first has done. */
  async inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(key)
    const turn = (async () => {
      await before?.catch(() => {})
      return work()
    })()
    this.#turns.set(key, turn)
    try {
      return await turn
    } finally {
      if (this.#turns.get(key) === turn) this.#turns.delete(key)
    }
  }

  /**
   * Asks `look` until it gives an answer: at once, and whenever the approval may have changed. What happens while it
   * looks is not missed.
   */
  async watch<T>(
    { id, expires_at }: Approval,
    gone: readonly AbortSignal[],
    look: (woken: Woken | 'first') => Promise<T | undefined>,
  ): Promise<T> {
    let bell = Promise.withResolvers<Woken>()
    const ring = (why: Woken) => bell.resolve(why)
    const changed = () => ring('changed')
    const left = () => ring('left')
    const closing = () => ring('closing')
    const waiting = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, waiting.add(changed))
    for (const signal of gone) signal.addEventListener('abort', left)
    this.#closing.signal.addEventListener('abort', closing)
    // A timer may be a little early, and then the time would not be up.
    const timer = setTimeout(() => ring('late'), Date.parse(expires_at) - Date.now() + 10)
    const patrol = setInterval(changed, patrolMs)
    try {
      for (let woken: Woken | 'first' = 'first'; ; woken = await bell.promise) {
        bell = Promise.withResolvers()
        const answer = await look(woken)
        if (answer !== undefined) return answer
        if (gone.some((signal) => signal.aborted)) left()
        else if (this.#closing.signal.aborted) closing()
      }
    } finally {
      clearTimeout(timer)
      clearInterval(patrol)
      for (const signal of gone) signal.removeEventListener('abort', left)
      this.#closing.signal.removeEventListener('abort', closing)
      waiting.delete(changed)
      if (waiting.size === 0) this.#waiting.delete(id)
    }
  }

  /**
   * Puts a call before people, unless its caller has too much there already; undefined where the same call is open. One after
   * the other for each caller, so the limit holds; replicas may together pass it by as many calls as come at one moment.
   */
  place(draft: ApprovalDraft): Promise<Approval | undefined> {
    const { principal, action } = draft
    const limit = this.options.mostPending
    return this.inTurn(principal.id, async () => {
      if ((await this.approvals.countPending(principal.id)) >= limit) {
        throw new PlatformError('TOO_MANY_APPROVALS', { action, limit })
      }
      return this.approvals.create(draft)
    })
  }

  /** How long a decision may take. */
  async secondsFor({ seconds }: Demand, projectId: string): Promise<number> {
    if (seconds !== null) return seconds
    return (await this.#projects.find(projectId))?.approval_timeout_seconds ?? this.options.seconds
  }

  /** Whether a call that was begun may have had its effect: nobody was asked about it, or its grant was taken. */
  async hasPassed(callId: string): Promise<boolean> {
    const approval = await this.approvals.findByCall(callId)
    return approval === undefined || approval.status === 'used'
  }

  /** Where a person decides on it. */
  linkTo({ id }: Pick<Approval, 'id'>, home: string | undefined): string | undefined {
    const base = this.options.publicUrl ?? home
    return base && `${base.replace(/\/+$/, '')}/approvals/${id}`
  }

  /** Lets go of those who wait, who are told to come back; what they wait for stays. */
  close(): void {
    this.#closing.abort()
  }
}
