import type { PreparedAction, ToolEntry } from '../catalogue/catalogue.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Gate } from '../model/approval.ts'
import type { GenerationRef, Live, OnWait, RunOptions, Surface } from '../model/call.ts'
import type { Mode } from '../model/mode.ts'
import type { Wait } from '../model/outcome.ts'
import type { Principal } from '../model/principal.ts'
import type { Server } from '../model/server.ts'
import type { Output } from '../model/tool.ts'

/**
 * A call on its way through dispatch. Each step adds one fact, and the types enforce the order: `execute` takes an
 * `ApprovedCall`, so a call that was only authorized does not compile.
 */
export interface CallRequest {
  readonly id: string
  readonly principal: Principal
  readonly surface: Surface
  readonly client: { readonly name: string | null; readonly version: string | null }
  readonly toolId: string
  /** The tool itself, if it has no record because it belongs to the turn of a session. */
  readonly builtIn?: ToolEntry | undefined
  /** The name of the action. Optional for tools with a single action. */
  readonly action: string | undefined
  /** Whether `action` is a method of the tool's protocol, such as `prompts/get`. */
  readonly isMethod?: boolean
  readonly input: JsonObject
  /** The call that made this one, and the number of its ancestors. */
  readonly parentCallId: string | null
  readonly depth: number
  readonly live?: Live | undefined
  readonly generation?: GenerationRef | undefined
  /** The agent grants its tools to everyone who may run it, so only an explicit deny blocks the call. */
  readonly viaAgent?: boolean
  /** Sent as headers to the tool's upstream service. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /** The MCP endpoint that the call came through. */
  readonly server?: CalledServer | undefined
  readonly onWait?: OnWait | undefined
  /** Set when a call is resumed: the time at which it was recorded as begun. */
  readonly begunAt?: number | undefined
  /** What a resumed call was waiting for, if its caller stored that. */
  readonly awaited?: Wait['kind'] | undefined
  /** Aborted once the caller disconnects. A function, because only calls that wait need the signal. */
  readonly gone?: (() => AbortSignal) | undefined
  /** The platform's base URL from the caller's request. */
  readonly home?: string | undefined
  /** How to start a run, for actions that do. */
  readonly run?: RunOptions | undefined
  /** Set if this call needs approval whatever the other gates say. */
  readonly requiresApproval?: Pick<Gate, 'id' | 'name' | 'reason'> | undefined
  /** Called with the output before it is recorded, so that a caller with a journal can store it there first. */
  onOutput?(output: Output): Promise<void>
}

export type CalledServer = Pick<Server, 'id' | 'slug' | 'auto_approve' | 'approval_timeout_seconds'>

export interface ResolvedCall extends CallRequest {
  readonly entry: ToolEntry
  readonly prepared: PreparedAction
}

export interface AuthorizedCall extends ResolvedCall {
  readonly allowedBy: string
  /** The modes of the call, if it has any. All of them allow it. */
  readonly modes?: readonly Mode[] | undefined
}

export interface PreparedCall extends AuthorizedCall {
  readonly merged: JsonObject
}

export interface ValidCall extends PreparedCall {
  readonly valid: true
}

export interface ApprovedCall extends ValidCall {
  /** Null if no approval was required. */
  readonly approvalId: string | null
  /** How long it waited for approval, in milliseconds. Null if no approval was required. */
  readonly waitedMs: number | null
}
