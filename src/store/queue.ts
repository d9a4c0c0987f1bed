/**
 * Says whose turn it is to be looked at, and nothing else: what there is to do stands in the tables, and whoever looks
 * reads it there. So a look too many does no harm, and none is ever lost.
 */
export interface Queue {
  /**
   * Someone is to look at `id`, now or at a time. Asked twice before anyone looks: once, at the earliest time asked for.
   * Asked while it is being looked at: once more, after. To be called when what there is to do has been committed.
   */
  ask(kind: string, id: string, at?: number): Promise<void>
  /**
   * Looks at what is asked for, here. Never two at a time for one id of one kind, in all processes together. A look that
   * throws is tried again, after 1 s, 2 s … 60 s, for ever. `signal` aborts when this process stops, or when the turn has
   * gone to another process; what was being looked at then is looked at again, whether the look threw or returned.
   */
  work(kind: string, options: Work): Promise<void>
  /** Takes nothing new, aborts the signals and waits a while for the looks to end. Others take up what has not ended. */
  stop(): Promise<void>
}

export interface Work {
  readonly atOnce: number
  look(id: string, signal: AbortSignal): Promise<void>
}

export interface QueueOptions {
  /** Hears of a look that threw, and of trouble with the queue itself, which has no id. */
  onError(error: unknown, about: { readonly kind?: string; readonly id?: string }): void
  /** How long `stop` waits for looks to end. */
  readonly patienceMs?: number
}
