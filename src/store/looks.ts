import { setTimeout as sleep } from 'node:timers/promises'
import type { QueueOptions, Work } from './queue.ts'

/** One id whose turn it is: taken, so that nobody else looks at it. */
export interface Turn {
  readonly id: string
  /** How often looking at it has failed. */
  readonly failures: number
}

/** Where turns of one kind come from and go back to: what the two engines do differently. */
export interface Turns<T extends Turn> {
  /** Takes up to so many whose time has come. */
  take(limit: number): Promise<T[]>
  /** It has been looked at; if it was asked for meanwhile, it comes again. */
  end(turn: T): Promise<void>
  /** It is to come again, at that time or at an earlier one that was asked for meanwhile. */
  giveBack(turn: T, at: number): Promise<void>
  /** When to try to take again, if nobody says so before. */
  nextAt(): Promise<number | undefined>
}

const longestTimer = 60_000

/** 1 s, 2 s, 4 s … 60 s. */
export const delayAfter = (failures: number): number => Math.min(60_000, 1000 * 2 ** Math.min(failures, 10))

/**
 * Looks at the turns of one kind, so many at once. A turn is taken, looked at, and then ended, given back (the look threw,
 * or this process stops) or dropped (it has gone to another process). Until then it is in `held`.
 */
export class Looks<T extends Turn> {
  readonly held = new Map<T, AbortController>()
  readonly #kind: string
  readonly #work: Work
  readonly #turns: Turns<T>
  readonly #onError: QueueOptions['onError']
  readonly #underWay = new Set<Promise<void>>()
  readonly #looking = new Set<string>()
  readonly #lost = new WeakSet<T>()
  #filling: Promise<void> | undefined
  #again = false
  #stopping = false
  #timer: NodeJS.Timeout | undefined
  #timerAt = Number.POSITIVE_INFINITY

  constructor(kind: string, work: Work, turns: Turns<T>, onError: QueueOptions['onError']) {
    this.#kind = kind
    this.#work = work
    this.#turns = turns
    this.#onError = onError
  }

  /** Something may be there to take. */
  wake(): void {
    this.#again = true
    if (this.#stopping || this.#filling) return
    this.#filling = this.#fill().finally(() => {
      this.#filling = undefined
      // What was said after the last look for turns.
      if (this.#again && this.held.size < this.#work.atOnce) this.wake()
    })
  }

  /** Something will be there to take at that time. */
  wakeAt(at: number): void {
    if (this.#stopping || at >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(
      () => {
        this.#timerAt = Number.POSITIVE_INFINITY
        this.wake()
      },
      Math.min(Math.max(at - Date.now(), 0), longestTimer),
    ).unref()
  }

  /** The turn has gone to another process: the look is to stop, and what comes of it is not ours to say. */
  lose(turn: T): void {
    this.#lost.add(turn)
    this.held.get(turn)?.abort(new Error(`${turn.id} has gone to another process`))
  }

  /** Resolves once all looks have ended, or after that time: with the turns whose looks have not. */
  async stop(patienceMs: number): Promise<T[]> {
    this.#stopping = true
    clearTimeout(this.#timer)
    for (const controller of this.held.values()) controller.abort(new Error('this process stops'))
    const ended = (async () => {
      await this.#filling
      while (this.#underWay.size > 0) await Promise.all(this.#underWay)
    })()
    const done = new AbortController()
    await Promise.race([ended, sleep(patienceMs, undefined, { signal: done.signal, ref: false }).catch(() => {})])
    done.abort()
    const left = [...this.held.keys()].filter((turn) => !this.#lost.has(turn))
    for (const turn of left) this.#lost.add(turn)
    return left
  }

  async #fill(): Promise<void> {
    try {
      while (this.#again && !this.#stopping) {
        this.#again = false
        const free = this.#work.atOnce - this.held.size
        if (free <= 0) break
        for (const turn of await this.#turns.take(free)) this.#start(turn)
      }
      if (this.held.size < this.#work.atOnce) {
        const next = await this.#turns.nextAt()
        if (next !== undefined) this.wakeAt(next)
      }
    } catch (error) {
      this.#onError(error, { kind: this.#kind })
      this.wakeAt(Date.now() + 1000)
    }
  }

  #start(turn: T): void {
    const controller = new AbortController()
    if (this.#stopping) controller.abort(new Error('this process stops'))
    this.held.set(turn, controller)
    const look = this.#look(turn, controller.signal).finally(() => {
      this.held.delete(turn)
      this.#underWay.delete(look)
      this.wake()
    })
    this.#underWay.add(look)
  }

  async #look(turn: T, signal: AbortSignal): Promise<void> {
    // A turn that was lost and comes back here, while its look before has not heeded its signal.
    if (this.#looking.has(turn.id)) return this.#settle(turn, () => this.#turns.giveBack(turn, Date.now() + 1000))
    let failed = false
    try {
      this.#looking.add(turn.id)
      if (!signal.aborted) await this.#work.look(turn.id, signal)
    } catch (error) {
      failed = true
      if (!signal.aborted) this.#onError(error, { kind: this.#kind, id: turn.id })
    } finally {
      this.#looking.delete(turn.id)
    }
    if (signal.aborted) await this.#settle(turn, () => this.#turns.giveBack(turn, 0))
    else if (failed) {
      const at = Date.now() + delayAfter(turn.failures)
      await this.#settle(turn, () => this.#turns.giveBack(turn, at))
    } else await this.#settle(turn, () => this.#turns.end(turn))
  }

  /** Until the database has it, or the turn is no longer ours, it stays held, so that nobody else looks. */
  async #settle(turn: T, write: () => Promise<void>): Promise<void> {
    for (let tries = 0; !this.#lost.has(turn); tries++) {
      try {
        return await write()
      } catch (error) {
        this.#onError(error, { kind: this.#kind })
        await sleep(Math.min(200 * 2 ** tries, 5000), undefined, { ref: false })
      }
    }
  }
}
