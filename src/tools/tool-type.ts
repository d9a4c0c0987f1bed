import type { z } from 'zod'
import type { FindSecret } from '../credentials/inject.ts'
import type { Lineage } from '../http/lineage.ts'
import type { Outbound } from '../http/outbound.ts'
import type { JsonObject } from '../lib/json.ts'
import type { UpstreamHealth } from '../mcp/client/upstream.ts'
import type { Upstreams } from '../mcp/client/upstreams.ts'
import type { Live, OnWait, Within } from '../model/call.ts'
import type { Fault } from '../model/errors.ts'
import type { Waiting } from '../model/outcome.ts'
import type { Principal } from '../model/principal.ts'
import type { Action, Level, Output, ToolDraft } from '../model/tool.ts'
import type { ToolRecord } from '../store/tools.ts'

/** An operation of the platform, as a platform tool sees it. */
export interface PlatformAction {
  readonly name: string
  /** What a caller needs to run it, and what you need to put it into a tool. */
  readonly permission: string
  readonly level: Level
  readonly description: string
  readonly schema: JsonObject
  readonly aliases: Readonly<Record<string, string>>
  readonly idempotent: boolean
  readonly destructive: boolean
}

/** What a type may reach, handed to it so that it is tested without the rest. */
export interface Reach {
  readonly outbound: Pick<Outbound, 'client'>
  readonly upstreams: Upstreams
  readonly lineage: Lineage
  /** Whether tools may start programs of this machine. */
  readonly allowStdio: boolean
  findSecret(projectId: string): FindSecret
  readonly platformActions: ReadonlyMap<string, PlatformAction>
  /** Runs an operation for a principal, with every check that REST makes. */
  perform(name: string, input: JsonObject, asker: Asker): Promise<Output | Waiting>
}

/** On whose behalf, and from within which call. */
export interface Asker {
  readonly principal: Principal
  readonly callId: string
  readonly depth: number
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  readonly generation?: Within | undefined
  /** What a run was given for those behind its tools. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /** Whether a call that has to wait for long may answer with `Waiting`. */
  readonly onWait?: OnWait
  /** The platform's address, as the caller knows it. */
  readonly home?: string | undefined
}

/** A call that has passed every check and is about to have its effect. */
export interface Execution extends Asker {
  readonly tool: ToolRecord
  readonly action: Action
  readonly input: JsonObject
  readonly timeoutMs: number
  readonly live: Live | undefined
}

/** `{ userId: 'u1' }` as `x-quartermaster-context-userid: u1`. */
export const contextHeaders = (context: Asker['context']): Record<string, string> | undefined =>
  context &&
  Object.fromEntries(
    Object.entries(context).map(([key, value]) => [`x-quartermaster-context-${key.toLowerCase()}`, value]),
  )

/** What a type says of an action; what is the same for all types is added by the catalogue. */
export type ActionSketch = Pick<
  Action,
  'name' | 'description' | 'schema' | 'idempotent' | 'destructive' | 'aliases' | 'definition'
> & {
  /** The least level of the action; the tool's own level can raise it. */
  readonly level?: Level
}

/** One of the things a tool can be. */
export interface ToolType {
  readonly type: string
  /** Other names under which the type is registered. */
  readonly aliases?: readonly string[]
  /** Whether a tool of this type offers many actions, so that a caller must name one. */
  readonly many: boolean
  /** The fields of the record that the type needs. The other types' fields must be left out. */
  readonly config: z.ZodObject
  /** What is wrong with the record as a whole, beyond the shape of its fields. */
  check(draft: ToolDraft, reach: Reach): readonly Fault[]
  /** What the tool offers now, which may have to be asked of someone else. */
  actions(tool: ToolRecord, reach: Reach): readonly ActionSketch[] | Promise<readonly ActionSketch[]>
  /** Believes no longer what was asked of someone else before. */
  refresh?(tool: ToolRecord, reach: Reach): void
  /** Asks someone else again, where what was asked before is older than that; fails where that cannot be had. */
  renew?(tool: ToolRecord, reach: Reach, maxAge: number): Promise<void>
  /** How the one behind the tool is, where there is one. */
  health?(tool: ToolRecord, reach: Reach): UpstreamHealth
  /** Absent where the platform cannot run the tool by itself. */
  execute?(call: Execution, reach: Reach): Promise<Output | Waiting>
}

export const defineToolType = (type: ToolType): ToolType => type
