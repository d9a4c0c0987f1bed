import type { JsonObject } from './json.ts'

/** What a call waits for: a human's decision, the end of a run that it has started, or its caller's own doing. */
export type Awaited =
  | { readonly kind: 'approval'; readonly id: string; readonly expiresAt: number }
  | { readonly kind: 'generation'; readonly id: string }
  | { readonly kind: 'client'; readonly input: JsonObject; readonly expiresAt?: number }

/**
 * Thrown through the door by a call that has to wait, to a caller that comes back (`patience`). The call is begun and not
 * over: sent again under its id, once what it waits for has come, it goes on from there.
 */
export class Suspended extends Error {
  override readonly name = 'Suspended'
  readonly awaits: Awaited
  /** What the caller is told instead: the call is not over, and it is not for this caller to come back for it. */
  readonly told: Error | undefined

  constructor(awaits: Awaited, told?: Error) {
    super(`the call waits: ${awaits.kind}`)
    this.awaits = awaits
    this.told = told
  }
}
