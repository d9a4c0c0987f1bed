import { z } from 'zod'
import { AnyJson, type JsonObject } from '../lib/json.ts'
import type { Asking, Logs } from './asking.ts'
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

/** Whether a call that ended so got as far as its tool. All others were refused: by a check, a policy or a person. */
export const wasExecuted = (status: string): boolean => status === 'success' || status === 'execution_error'

export const surfaces = ['rest', 'mcp', 'cli', 'sdk', 'agent', 'web'] as const
export const Surface = z.enum(surfaces)
export type Surface = z.infer<typeof Surface>

/** How a request reached us. The command line and the SDK are clients of REST that name themselves, and anyone can. */
export type Transport = Exclude<Surface, 'cli' | 'sdk'>
export const transportOf = (surface: Surface): Transport => (surface === 'cli' || surface === 'sdk' ? 'rest' : surface)

/** The record of one trip through the door. */
export const Call = z.object({
  id: z.string(),
  project_id: z.string().nullable(),
  parent_call_id: z.string().nullable().describe('The call that made this one'),
  generation_id: z.string().nullable().describe('The run of an agent that it is a part of'),
  agent_id: z.string().nullable(),
  tool_id: z.string().nullable(),
  tool: z.string().nullable().describe('The tool’s name at the time'),
  app: z.string().nullable(),
  action: z.string().nullable().describe('namespace:name'),
  status: CallStatus,
  principal: z.object({ kind: z.string(), id: z.string(), name: z.string() }),
  surface: Surface.describe('How it came; cli and sdk are what a client of REST says of itself'),
  server_id: z.string().nullable().describe('The MCP endpoint that the call came through'),
  client: z.object({ name: z.string().nullable(), version: z.string().nullable() }),
  request: AnyJson.describe('What the caller sent, without presets; where it was cut, the beginning of its JSON text'),
  request_truncated: z.boolean(),
  preset_keys: z.array(z.string()).describe('The arguments that were fixed on the tool; their values are not recorded'),
  response: AnyJson.describe('The output; where it was cut, the beginning of its JSON text'),
  response_truncated: z.boolean(),
  error: z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), AnyJson) }).nullable(),
  duration_ms: z.number().nullable().describe('From the request to the end, with the time that it waited for a person'),
  waited_ms: z.number().nullable().describe('How long it waited for a person’s decision; null where none was asked'),
  created_at: Timestamp,
  completed_at: Timestamp.nullable(),
})
export type Call = z.infer<typeof Call>

/** Whether every word of a search is in what a call says about itself, or begins its id. Upper and lower case are alike. */
export function matchesText(call: Pick<Call, 'id' | 'action' | 'tool' | 'error'>, text: string): boolean {
  const places = [call.action, call.tool, call.error?.code, call.error?.message].map((place) => place?.toLowerCase())
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return words.every((word) => call.id.startsWith(word) || places.some((place) => place?.includes(word)))
}

export const CallSummary = Call.omit({ request: true, response: true })
export type CallSummary = z.infer<typeof CallSummary>

/**
 * What a caller does when its call has to wait for someone: it blocks until that has come; or returns, and makes the same call
 * again; or resumes the call later under its id.
 */
export type OnWait = 'block' | 'return' | 'resume'

/** The run of an agent that a call is a part of. */
export interface Within {
  readonly id: string
  readonly agentId: string
}

/** What a caller who waits can still do, and be told, while the call runs. */
export interface Live {
  /** Aborted when the caller cancels. */
  readonly signal?: AbortSignal
  onProgress?(progress: { progress: number; total?: number; message?: string }): void
  /** What the caller sends along for the one who is called. */
  readonly meta?: JsonObject
  /** Absent where the caller can be asked nothing. */
  readonly asking?: Asking
  /** Absent where the caller does not want to hear of logs. */
  readonly logs?: Logs
}
