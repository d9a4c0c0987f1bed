import type { CallEnd, CallRow } from '../db/tables.ts'

/** How long a call can run before its row is written. */
const graceMs = 50

export interface CallWrites {
  /** Writes the row of a call that has begun, or of one that is over. */
  insert(row: CallRow): Promise<void>
  end(end: CallEnd): Promise<void>
}

/** A call whose row is written later. */
export interface DeferredCall {
  readonly row: CallRow
  /** Its place in the list of unwritten calls. */
  place: number
  /** Set once it has been written as begun. */
  written: Promise<void> | undefined
}

/**
 * Calls that change nothing, from their begin on. There is no effect that the row must precede, so a short call is written
 * once, when it ends. A call that takes longer is also written while it runs, so that the log shows it, and still has it after
 * a crash.
 */
export class DeferredCalls {
  readonly #writes: CallWrites
  /** A list, not a `Set`: the table of a set that reached the old generation keeps removed calls alive. */
  readonly #unwritten: DeferredCall[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(writes: CallWrites) {
    this.#writes = writes
  }

  begin(row: CallRow): DeferredCall {
    const call: DeferredCall = { row, place: this.#unwritten.length, written: undefined }
    this.#unwritten.push(call)
    // Runs while there are calls: starting a timer for each would take longer than looking at all of them.
    this.#timer ??= setInterval(() => this.#writeBefore(Date.now() - graceMs), graceMs / 2).unref()
    return call
  }

  /** Resolves once the end is written. */
  async end(call: DeferredCall, end: CallEnd): Promise<void> {
    if (!call.written) {
      this.#remove(call)
      return this.#writes.insert(Object.assign(call.row, end))
    }
    await call.written
    return this.#writes.end(end)
  }

  /** Resolves once the call is written, whether or not it is over. */
  write(call: DeferredCall): Promise<void> {
    if (!call.written) {
      this.#remove(call)
      call.written = this.#writes.insert(call.row)
      // Reported when the call ends.
      call.written.catch(() => {})
    }
    return call.written
  }

  #writeBefore(time: number): void {
    for (const call of this.#unwritten.filter(({ row }) => row.created_at <= time)) void this.write(call)
    if (this.#unwritten.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #remove(call: DeferredCall): void {
    const last = this.#unwritten.pop() as DeferredCall
    if (last === call) return
    this.#unwritten[call.place] = last
    last.place = call.place
  }
}
