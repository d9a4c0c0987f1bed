import { z } from 'zod'
import { AnyJson, type JsonObject } from '../lib/json.ts'
import type { ClientRequester, LogSink } from './client-request.ts'
import { Timestamp } from './page.ts'

export const CallStatus = z.enum([
  'pending',
  'success',
  'validation_error',
  'permission_denied',
  'rejected',
  'execution_error',
])
export type CallStatus = z.infer<typeof CallStatus>

/** Whether a call with this status reached its tool. All others were refused by validation, a policy or a person. */
export const wasExecuted = (status: string): boolean => status === 'success' || status === 'execution_error'

export const surfaces = ['rest', 'mcp', 'xml', 'cli', 'sdk', 'agent', 'workflow', 'web'] as const
export const Surface = z.enum(surfaces)
export type Surface = z.infer<typeof Surface>

/** The transport of a request. The CLI and the SDK are REST clients that identify themselves, which any client can do. */
export type Transport = Exclude<Surface, 'cli' | 'sdk'>
export const transportOf = (surface: Surface): Transport => (surface === 'cli' || surface === 'sdk' ? 'rest' : surface)

/** The record of one call. */
export const Call = z.object({
  id: z.string(),
  project_id: z.string().nullable(),
  parent_call_id: z.string().nullable().describe('The call that made this one'),
  generation_id: z.string().nullable().describe('The agent run it belongs to'),
  agent_id: z.string().nullable(),
  tool_id: z.string().nullable(),
  tool: z.string().nullable().describe('The tool’s name at the time of the call'),
  app: z.string().nullable(),
  action: z.string().nullable().describe('namespace:name'),
  status: CallStatus,
  principal: z.object({ kind: z.string(), id: z.string(), name: z.string() }),
  surface: Surface.describe(
    'The surface it came through; cli and sdk are REST clients that identify themselves as such',
  ),
  server_id: z.string().nullable().describe('The MCP endpoint that the call came through'),
  client: z.object({ name: z.string().nullable(), version: z.string().nullable() }),
  request: AnyJson.describe('Arguments from the caller, without presets; if truncated, the start of the JSON text'),
  request_truncated: z.boolean(),
  preset_keys: z
    .array(z.string())
    .describe('Names of the arguments that were preset on the tool; their values are not recorded'),
  response: AnyJson.describe('The output; if truncated, the start of the JSON text'),
  response_truncated: z.boolean(),
  error: z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), AnyJson) }).nullable(),
  duration_ms: z.number().nullable().describe('Total time, including the wait for approval'),
  waited_ms: z.number().nullable().describe('Time spent waiting for approval; null if none was needed'),
  mode: z.string().nullable().describe('The modes of the call, separated by commas; null without a mode'),
  created_at: Timestamp,
  completed_at: Timestamp.nullable(),
})
export type Call = z.infer<typeof Call>

/** Whether every word of a search is in the action, tool or error of a call, or begins its id. Ignores case. */
export function matchesText(call: Pick<Call, 'id' | 'action' | 'tool' | 'error'>, text: string): boolean {
  const places = [call.action, call.tool, call.error?.code, call.error?.message].map((place) => place?.toLowerCase())
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return words.every((word) => call.id.startsWith(word) || places.some((place) => place?.includes(word)))
}

export const CallSummary = Call.omit({ request: true, response: true })
export type CallSummary = z.infer<typeof CallSummary>

/**
 * What a caller does when its call has to wait: it blocks until the wait is over; it returns and makes the same call again
 * later; or it resumes the call later under its id.
 */
export type OnWait = 'block' | 'return' | 'resume'

/** How a call starts a run. */
export interface RunOptions {
  /** Return as soon as the run has started. The run completes the record of the call. */
  readonly detach?: boolean
  /** Use the recorded outputs of another run for all steps before this one. */
  readonly from?: { readonly runId: string; readonly step: string }
}

/** The agent run that a call belongs to. */
export interface GenerationRef {
  readonly id: string
  readonly agentId: string
}

/** The connection to a waiting caller while its call runs: cancellation, progress, requests and logs. */
export interface Live {
  /** Aborted when the caller cancels. */
  readonly signal?: AbortSignal
  readonly onProgress?: ((progress: { progress: number; total?: number; message?: string }) => void) | undefined
  /** The caller's `_meta`, passed on to the upstream server. */
  readonly meta?: JsonObject
  /** Absent if the caller does not support requests. */
  readonly requester?: ClientRequester
  /** Absent if the caller does not want logs. */
  readonly logs?: LogSink
}
