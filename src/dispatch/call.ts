import type { Entry, Offer } from '../catalogue/catalogue.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Live, OnWait, Surface, Within } from '../model/call.ts'
import type { Wait } from '../model/outcome.ts'
import type { Principal } from '../model/principal.ts'
import type { Server } from '../model/server.ts'
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
  /** The MCP endpoint that the call came through. */
  readonly server?: CalledServer | undefined
  readonly onWait?: OnWait | undefined
  /** It came back: the call was recorded as begun, then, and goes on. */
  readonly begunAt?: number | undefined
  /** What it waited for when it was last here, where its caller has kept that. */
  readonly awaited?: Wait['kind'] | undefined
  /** Aborted once the caller is gone and nobody waits for an answer; asked for only by a call that has to wait. */
  readonly gone?: (() => AbortSignal) | undefined
  /** The platform's address, as the caller knows it. */
  readonly home?: string | undefined
  /** Told what the call gave, before that is recorded: a caller that keeps a journal has it there first. */
  onOutput?(output: Output): Promise<void>
}

export type CalledServer = Pick<Server, 'id' | 'slug' | 'auto_approve' | 'approval_timeout_seconds'>

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
  /** Null where no gate asked. */
  readonly approvalId: string | null
  /** How long it waited for a person, in milliseconds; null where no gate asked. */
  readonly waitedMs: number | null
}
