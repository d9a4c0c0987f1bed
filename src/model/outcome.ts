import type { JsonObject } from '../lib/json.ts'
import type { Output } from './tool.ts'

/** What a call waits for: a person's decision, the end of a run that it has started, or its caller, who runs the tool. */
export type Wait =
  | { readonly kind: 'approval'; readonly id: string; readonly expiresAt: number }
  | { readonly kind: 'generation'; readonly id: string }
  | { readonly kind: 'client'; readonly input: JsonObject; readonly expiresAt?: number }

/** The call has begun and is not over. Made again under its id, once what it waits for has come, it goes on from there. */
export class Waiting {
  readonly kind = 'waiting'
  readonly on: Wait

  constructor(on: Wait) {
    this.on = on
  }
}

/** How a call ended for the one who made it. */
export type Outcome =
  | { readonly kind: 'done'; readonly output: Output }
  | Waiting
  | { readonly kind: 'refused'; readonly error: unknown }
