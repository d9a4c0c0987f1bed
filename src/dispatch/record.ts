import { sentInput } from '../approvals/frozen.ts'
import { secretPathsOf, shownInput } from '../approvals/sensitive.ts'
import { appOf, type Offer } from '../catalogue/catalogue.ts'
import type { Redactor } from '../credentials/redactor.ts'
import { redactorOf } from '../credentials/tool-secrets.ts'
import type { CallEnd, CallRow } from '../db/tables.ts'
import { firstBytes, wholeSlice } from '../lib/characters.ts'
import type { CallStatus } from '../model/call.ts'
import { knownError } from '../model/database-unavailable.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import type { Action, Output } from '../model/tool.ts'
import type { Calls } from '../store/calls.ts'
import type { ToolRecord } from '../store/tools.ts'
import { findToolType } from '../tools/index.ts'
import type { Asked, Resolved, Valid } from './call.ts'
import { redact } from './redact.ts'

const requestLimit = 32 * 1024
const responseLimit = 64 * 1024

/** How a call ended, for those who count. */
export interface Ended {
  readonly type: string
  readonly status: string
  /** Without the time that it waited for a person. */
  readonly seconds: number
}

/** A call's way through the record: begun before its effect, ended after it; or refused, when it never had one. */
export class CallRecord {
  readonly #calls: Calls
  readonly #asked: Asked
  #id: string
  #createdAt: number
  readonly #startedAt = performance.now()
  /** How long it had taken when it came back. */
  #before: number
  #begun: boolean
  #waited: number | null = null
  #secrets: Redactor | undefined
  #offer: Offer | undefined
  #type = 'unknown'
  #target: Pick<CallRow, 'project_id' | 'tool_id' | 'tool' | 'app' | 'action'>

  constructor(calls: Calls, asked: Asked) {
    this.#calls = calls
    this.#asked = asked
    this.#id = asked.id
    this.#begun = asked.begunAt !== undefined
    this.#createdAt = asked.begunAt ?? Date.now()
    this.#before = Date.now() - this.#createdAt
    const { projectId } = asked.principal
    this.#target = { project_id: projectId, tool_id: plain(asked.toolId), tool: null, app: null, action: null }
  }

  /** From here on it is known what is called, however the call ends. */
  resolved({ entry: { tool, type }, offer }: Resolved): void {
    const { action } = offer
    this.#type = type.type
    this.#offer = offer
    this.#secrets = redactorOf(tool)
    this.#target = {
      project_id: tool.project_id,
      tool_id: tool.id,
      tool: tool.name,
      app: action.app,
      // An action of someone else's may be called anything.
      action: plain(action.id),
    }
  }

  /** The tool is known, and the call is refused before all of it is: which action is meant may not be. */
  found(tool: ToolRecord, action?: Action): void {
    const type = findToolType(tool.type)
    this.#type = tool.type
    this.#secrets = redactorOf(tool)
    const { project_id, id: tool_id, name } = tool
    this.#target = {
      ...{ project_id, tool_id, tool: name },
      app: type ? appOf(tool, type) : null,
      action: plain(action?.id ?? null),
    }
  }

  get action(): string {
    return this.#target.action ?? this.#asked.toolId
  }

  /** What is answered without a tool, such as a search for actions, is recorded under a name of our own. */
  aside(projectId: string | null, name: string): void {
    this.#type = 'aside'
    this.#target = {
      project_id: projectId,
      tool_id: null,
      tool: null,
      app: 'quartermaster',
      action: `quartermaster:${name}`,
    }
  }

  async answered(output: Output): Promise<Ended> {
    const end = this.#end('success', output, null)
    await this.#calls.refuse({ ...this.#row('success', this.#asked.input), ...end })
    return this.#ended(end)
  }

  /** Goes on with a call that was begun before, by a caller who has left and called again. */
  adopt(id: string, begunAt: number): void {
    this.#id = id
    this.#begun = true
    this.#createdAt = begunAt
    this.#before = Date.now() - begunAt
  }

  /** How long the call waited for a person before it went on. */
  waited(milliseconds: number | null): void {
    this.#waited = milliseconds
  }

  async begin(call: Valid): Promise<void> {
    if (this.#begun) return
    this.#begun = true
    await this.#calls.begin(
      this.#row('pending', sentInput(call.input, call.offer)),
      call.offer.action.idempotent ? 'repeatable' : 'once',
    )
  }

  async succeed(output: Output): Promise<Ended> {
    const end = this.#end(output.failed ? 'execution_error' : 'success', output, null)
    await this.#calls.end(end)
    return this.#ended(end)
  }

  /** Not a PlatformError: a fault of our own, of which the record says no more than the caller is told. */
  async fail(error: unknown): Promise<Ended> {
    const known = knownError(error) ?? new PlatformError('INTERNAL', {})
    const end = this.#end(statusOf(known, this.#begun), null, known)
    if (this.#begun) await this.#calls.end(end)
    else await this.#calls.refuse({ ...this.#row(end.status as CallStatus, this.#asked.input), ...end })
    return this.#ended(end)
  }

  #ended({ status, duration_ms, waited_ms }: CallEnd): Ended {
    return { type: this.#type, status, seconds: Math.max(0, (duration_ms ?? 0) - (waited_ms ?? 0)) / 1000 }
  }

  #row(status: CallStatus, input: Asked['input']): CallRow {
    const { principal, surface, server, client, parentCallId, generation } = this.#asked
    const { presets, action } = this.#offer ?? {}
    const secretPaths = action ? secretPathsOf(action.schema) : []
    const shown = secretPaths.length > 0 ? shownInput(input, secretPaths, 'outside').value : input
    const request = capped(redact(JSON.stringify(shown), this.#secrets), requestLimit)
    const presetKeys = Object.keys(presets ?? {})
    return {
      id: this.#id,
      ...this.#target,
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
      created_at: this.#createdAt,
      completed_at: null,
    }
  }

  #end(status: CallStatus, output: Output | null, error: PlatformError | null): CallEnd {
    const took = Math.round((this.#before + performance.now() - this.#startedAt) * 1000) / 1000
    // A call whose approval ended without a grant did nothing but wait.
    const waited = error?.entry.endsApproval ? took : this.#waited
    // The tool's own secrets are gone from it by now.
    const response = output && capped(redact(output.text), responseLimit)
    return {
      id: this.#id,
      status,
      response: response?.text ?? null,
      response_truncated: response?.truncated ?? 0,
      error: error && redact(JSON.stringify(errorBody(error).error), this.#secrets),
      duration_ms: took,
      waited_ms: waited === null ? null : Math.min(waited, took),
      completed_at: Date.now(),
    }
  }
}

/** Text that every database takes: no lone halves of a character pair, no NUL, and not without end. */
const plain = (text: string | null): string | null =>
  text === null ? null : wholeSlice(text.toWellFormed().replaceAll('\0', ''), 200)

/** Cut at a number of bytes, never inside a character. */
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
