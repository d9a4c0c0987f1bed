import { sentInput } from '../approvals/fingerprint.ts'
import { secretPathsOf, shownInput } from '../approvals/sensitive.ts'
import { appOf } from '../catalogue/app.ts'
import type { PreparedAction } from '../catalogue/catalogue.ts'
import type { Redactor } from '../credentials/redactor.ts'
import type { CallEnd, CallRow } from '../db/tables.ts'
import { firstBytes, wholeSlice } from '../lib/characters.ts'
import type { CallStatus } from '../model/call.ts'
import { withoutLink } from '../model/connection-required.ts'
import { knownError } from '../model/database-unavailable.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import { modeNamesOf } from '../model/mode.ts'
import type { Action, Output } from '../model/tool.ts'
import type { Calls } from '../store/calls.ts'
import type { DeferredCall } from '../store/deferred-calls.ts'
import type { ToolRecord } from '../store/tools.ts'
import { redactorOf } from '../tools/redactor-of.ts'
import type { ToolType } from '../tools/tool-type.ts'
import type { CallRequest, ResolvedCall, ValidCall } from './call.ts'
import { redact } from './redact.ts'

const requestLimit = 32 * 1024
const responseLimit = 64 * 1024

/** The outcome of a call, for metrics. */
export interface CallMetric {
  readonly type: string
  readonly status: string
  /** Without the wait for approval. */
  readonly seconds: number
}

/** Records a call: begun before it has an effect and ended afterwards, or refused if it never has one. */
export class CallRecord {
  readonly #calls: Calls
  readonly #request: CallRequest
  #id: string
  #createdAt: number
  readonly #startedAt = performance.now()
  /** For a resumed call, the time that passed before it was resumed. */
  #before: number
  #begun: boolean
  /** Set if the call has begun and its row is written later. */
  #deferred: DeferredCall | undefined
  #waited: number | null = null
  #secrets: Redactor | undefined
  #prepared: PreparedAction | undefined
  #type = 'unknown'
  #target: Pick<CallRow, 'project_id' | 'tool_id' | 'tool' | 'app' | 'action'>

  constructor(calls: Calls, request: CallRequest) {
    this.#calls = calls
    this.#request = request
    this.#id = request.id
    this.#begun = request.begunAt !== undefined
    this.#createdAt = request.begunAt ?? Date.now()
    this.#before = Date.now() - this.#createdAt
    const { projectId } = request.principal
    this.#target = { project_id: projectId, tool_id: plain(request.toolId), tool: null, app: null, action: null }
  }

  /** Sets the tool and the action. From here on, the record names them however the call ends. */
  resolved({ entry: { tool, type, filled }, prepared }: ResolvedCall): void {
    const { action } = prepared
    this.#type = type.type
    this.#prepared = prepared
    this.#secrets = filled.redactor
    this.#target = {
      project_id: tool.project_id,
      tool_id: this.#request.builtIn ? null : tool.id,
      tool: tool.name,
      app: action.app,
      // The name of an upstream server's action can contain any characters.
      action: plain(action.id),
    }
  }

  /** Sets the tool of a call that is rejected before it is resolved. The action may be unknown. */
  found(tool: ToolRecord, type: ToolType, action?: Action): void {
    this.#type = tool.type
    this.#secrets = redactorOf(tool, type)
    const { project_id, id: tool_id, name } = tool
    this.#target = {
      ...{ project_id, tool_id, tool: name },
      app: appOf(tool),
      action: plain(action?.id ?? null),
    }
  }

  get action(): string {
    return this.#target.action ?? this.#request.toolId
  }

  /** For requests without a tool, such as a search for actions. Recorded under the app `quartermaster`. */
  internal(projectId: string | null, name: string): void {
    this.#type = 'internal'
    this.#target = {
      project_id: projectId,
      tool_id: null,
      tool: null,
      app: 'quartermaster',
      action: `quartermaster:${name}`,
    }
  }

  async answered(output: Output): Promise<CallMetric> {
    const end = this.#end('success', output, null)
    await this.#calls.refuse({ ...this.#row('success', this.#request.input), ...end })
    return this.#ended(end)
  }

  /** Continues the record of an earlier call whose caller disconnected and called again. */
  adopt(id: string, begunAt: number): void {
    this.#id = id
    this.#begun = true
    this.#createdAt = begunAt
    this.#before = Date.now() - begunAt
  }

  /** Sets how long the call waited for approval. */
  waited(milliseconds: number | null): void {
    this.#waited = milliseconds
  }

  begin(call: ValidCall): Promise<void> | undefined {
    if (this.#begun) return undefined
    this.#begun = true
    return this.#calls.begin(this.#begunRow(call), call.prepared.action.idempotent ? 'repeatable' : 'once')
  }

  /** Begins the record right before the tool runs. A call that changes nothing is written later. */
  beginEffect(call: ValidCall): Promise<void> | undefined {
    if (this.#begun || !isDeferrable(call)) return this.begin(call)
    this.#begun = true
    this.#deferred = this.#calls.deferred.begin(this.#begunRow(call))
    return undefined
  }

  /** For a call that is left open. */
  async suspend(): Promise<void> {
    if (this.#deferred) await this.#calls.deferred.write(this.#deferred)
  }

  async succeed(output: Output): Promise<CallMetric> {
    const end = this.#end(output.failed ? 'execution_error' : 'success', output, null)
    await this.#write(end)
    return this.#ended(end)
  }

  /** Errors that are not a `PlatformError` are bugs. The record contains `INTERNAL`, the same as the caller sees. */
  async fail(error: unknown): Promise<CallMetric> {
    const reported = knownError(error) ?? new PlatformError('INTERNAL', {})
    const end = this.#end(statusOf(reported, this.#begun), null, reported)
    if (this.#begun) await this.#write(end)
    else await this.#calls.refuse({ ...this.#row(end.status as CallStatus, this.#request.input), ...end })
    return this.#ended(end)
  }

  #write(end: CallEnd): Promise<void> {
    return this.#deferred ? this.#calls.deferred.end(this.#deferred, end) : this.#calls.end(end)
  }

  #begunRow({ input, prepared }: ValidCall): CallRow {
    return this.#row('pending', sentInput(input, prepared))
  }

  #ended({ status, duration_ms, waited_ms }: CallEnd): CallMetric {
    return { type: this.#type, status, seconds: Math.max(0, (duration_ms ?? 0) - (waited_ms ?? 0)) / 1000 }
  }

  #row(status: CallStatus, input: CallRequest['input']): CallRow {
    const { principal, surface, server, client, parentCallId, generation } = this.#request
    const { presets, action } = this.#prepared ?? {}
    const secretPaths = action ? secretPathsOf(action.schema) : []
    const shown = secretPaths.length > 0 ? shownInput(input, secretPaths, 'outside').value : input
    const request = capped(redact(JSON.stringify(shown), this.#secrets), requestLimit)
    const presetKeys = Object.keys(presets ?? {})
    const target = this.#target
    return {
      id: this.#id,
      project_id: target.project_id,
      tool_id: target.tool_id,
      tool: target.tool,
      app: target.app,
      action: target.action,
      parent_call_id: parentCallId,
      generation_id: generation?.id ?? null,
      agent_id: generation?.agentId ?? null,
      status,
      principal_kind: principal.kind,
      principal_id: principal.id,
      principal_name: principal.name,
      surface,
      server_id: server?.id ?? null,
      client_name: plain(client.name),
      client_version: plain(client.version),
      request: request.text,
      request_truncated: request.truncated,
      preset_keys: presetKeys.length > 0 ? JSON.stringify(presetKeys) : null,
      response: null,
      response_truncated: 0,
      error: null,
      duration_ms: null,
      waited_ms: null,
      mode: modeNamesOf(principal).join(', ') || null,
      created_at: this.#createdAt,
      completed_at: null,
    }
  }

  #end(status: CallStatus, output: Output | null, error: PlatformError | null): CallEnd {
    const took = Math.round((this.#before + performance.now() - this.#startedAt) * 1000) / 1000
    // A call whose approval ended without a grant only waited.
    const waited = error?.entry.endsApproval ? took : this.#waited
    // The tool's secrets have already been redacted from the output.
    const response = output && capped(redact(output.text), responseLimit)
    return {
      id: this.#id,
      status,
      response: response?.text ?? null,
      response_truncated: response?.truncated ?? 0,
      error: error && redact(JSON.stringify(errorBody(withoutLink(error)).error), this.#secrets),
      duration_ms: took,
      waited_ms: waited === null ? null : Math.min(waited, took),
      completed_at: Date.now(),
    }
  }
}

/** Whether the row of a call can wait for its end. A caller that resumes calls looks them up after a crash. */
const isDeferrable = ({ prepared: { action }, onWait }: ValidCall): boolean =>
  action.readOnly === true && action.resumable !== true && onWait !== 'resume'

/** Text that every database accepts: no lone surrogates, no NUL, and of limited length. */
const plain = (text: string | null): string | null =>
  text === null || isStorable(text) ? text : wholeSlice(text.toWellFormed().replaceAll('\0', ''), 200)

const isStorable = (text: string): boolean => text.length <= 200 && text.isWellFormed() && !text.includes('\0')

/** Truncates to a number of bytes, never inside a character. */
function capped(text: string, limit: number): { text: string; truncated: 0 | 1 } {
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return { text, truncated: 0 }
  return { text: firstBytes(text, limit), truncated: 1 }
}

export function statusOf(error: PlatformError, begun: boolean): CallStatus {
  const { recorded } = error.entry
  if (recorded) return recorded
  if (!begun && error.status < 500) return 'validation_error'
  return 'execution_error'
}
