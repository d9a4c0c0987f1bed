import type { JsonObject } from '../lib/json.ts'
import type { ConnectReason } from './connection.ts'
import type { Output } from './tool.ts'

/**
 * What a call waits for: an approval, the end of a run that it has started, its caller, which runs the tool, or an account
 * that its user has to connect.
 */
export type Wait =
  | { readonly kind: 'approval'; readonly id: string; readonly expiresAt: number }
  | { readonly kind: 'generation'; readonly id: string }
  | { readonly kind: 'workflow'; readonly id: string }
  | { readonly kind: 'client'; readonly input: JsonObject; readonly expiresAt?: number }
  | ConnectionWait

export interface ConnectionWait {
  readonly kind: 'connection'
  readonly app: string
  readonly reason: ConnectReason
  /** Encrypted, because waits are stored, and anyone who has the link can use it. */
  readonly link: string
  readonly expiresAt: number
}

/** The call has begun and is not over. It continues when it is made again under its id once the wait is over. */
export class Waiting {
  readonly kind = 'waiting'
  readonly on: Wait

  constructor(on: Wait) {
    this.on = on
  }
}

/** The outcome of a call for its caller. */
export type Outcome =
  | { readonly kind: 'done'; readonly output: Output }
  | Waiting
  | { readonly kind: 'refused'; readonly error: unknown }
