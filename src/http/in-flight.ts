export interface InFlightLimits {
  readonly perProject: number
  readonly overall: number
}

/**
 * Limits the bytes of large responses that are read concurrently, per project and overall. A response that would exceed a
 * limit waits: its connection is not read until others have ended.
 *
 * Responses of unknown length reserve bytes step by step, so several could wait for each other. To avoid a deadlock, the
 * oldest response of each project and the oldest overall may always continue. This exceeds a limit by one response at most.
 */
export class InFlight {
  readonly #limits: InFlightLimits
  readonly #used = new Map<string | undefined, number>()
  #total = 0
  /** Both are ordered by start. */
  readonly #active = new Set<Reservation>()
  readonly #waiting = new Set<Reservation>()

  constructor(limits: InFlightLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#total
  }

  /** Starts a reservation without bytes. `onGranted` is called when a waiting reservation may continue. */
  begin(project: string | undefined, onGranted: () => void): Reservation {
    const reservation: Reservation = { project, held: 0, wanted: 0, onGranted }
    this.#active.add(reservation)
    return reservation
  }

  /** Requests more bytes. Returns true if they are granted immediately, otherwise `onGranted` is called later. */
  reserve(reservation: Reservation, bytes: number): boolean {
    reservation.wanted = bytes
    if (this.#fits(reservation)) {
      this.#grant(reservation)
      return true
    }
    this.#waiting.add(reservation)
    return false
  }

  end(reservation: Reservation): void {
    if (!this.#active.delete(reservation)) return
    this.#waiting.delete(reservation)
    this.#add(reservation.project, -reservation.held)
    // Deferred, because the caller may be in the middle of reading another response.
    if (this.#waiting.size > 0) setImmediate(() => this.#grantWaiting())
  }

  #grantWaiting(): void {
    for (const reservation of this.#waiting) {
      if (!this.#fits(reservation)) continue
      this.#waiting.delete(reservation)
      this.#grant(reservation)
      reservation.onGranted()
    }
  }

  #fits(reservation: Reservation): boolean {
    const { project, wanted } = reservation
    const inProject = (this.#used.get(project) ?? 0) + wanted <= this.#limits.perProject
    const overall = this.#total + wanted <= this.#limits.overall
    if (inProject && overall) return true
    const [oldest] = this.#active
    if (reservation === oldest) return true
    return overall && reservation === this.#active.values().find((each) => each.project === project)
  }

  #grant(reservation: Reservation): void {
    reservation.held += reservation.wanted
    this.#add(reservation.project, reservation.wanted)
    reservation.wanted = 0
  }

  #add(project: string | undefined, bytes: number): void {
    const used = (this.#used.get(project) ?? 0) + bytes
    if (used > 0) this.#used.set(project, used)
    else this.#used.delete(project)
    this.#total += bytes
  }
}

export interface Reservation {
  readonly project: string | undefined
  held: number
  wanted: number
  readonly onGranted: () => void
}
