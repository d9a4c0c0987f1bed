import type { Entry, Offer } from '../catalogue/catalogue.ts'
import type { Live, Surface, Within } from '../model/call.ts'
import type { JsonObject } from '../model/json.ts'
import type { Principal } from '../model/principal.ts'
import type { Output } from '../model/tool.ts'

/**
 * A call on its way through the door. Each step adds one fact, and the types keep the order: `execute` wants a call that
 * was approved, and one that was only authorized does not compile.
 */
export interface Asked {
  readonly id: string
  readonly principal: Principal
  readonly surface: Surface
  readonly client: { readonly name: string | null; readonly version: string | null }
  readonly toolId: string
  /** Which of the tool's actions; a tool with only one needs no name. */
  readonly action: string | undefined
  readonly input: JsonObject
  /** The call that made this one, and how many are above it. */
  readonly parentCallId: string | null
  readonly depth: number
  readonly live?: Live | undefined
  readonly generation?: Within | undefined
  /** The agent lends the tool to whoever may run it, so only an express "no" keeps it from being called. */
  readonly lent?: boolean
  /** What goes along as headers to whoever is behind the tool. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /** Whether the caller waits for as long as the call has to wait for someone, or comes back for it (`Suspended`). */
  readonly patience?: 'waits' | 'comes back'
  /** It came back: the call was recorded as begun, then, and goes on. */
  readonly begunAt?: number | undefined
  /** Told what the call gave, before that is recorded: a caller that keeps a journal has it there first. */
  onOutput?(output: Output): Promise<void>
}

export interface Resolved extends Asked {
  readonly entry: Entry
  readonly offer: Offer
}

export interface Authorized extends Resolved {
  readonly allowedBy: string
}

export interface Preset extends Authorized {
  readonly merged: JsonObject
}

export interface Valid extends Preset {
  readonly valid: true
}

export interface Approved extends Valid {
  readonly approval: 'not needed'
}
