import { z } from 'zod'
import type { Asking, Logs } from './asking.ts'
import { AnyJson, type JsonObject } from './json.ts'
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

export const surfaces = ['rest', 'mcp', 'xml', 'cli', 'sdk', 'agent', 'workflow', 'web'] as const
export const Surface = z.enum(surfaces)
export type Surface = z.infer<typeof Surface>

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
  surface: Surface,
  server_id: z.string().nullable().describe('The MCP server of ours that it came by'),
  client: z.object({ name: z.string().nullable(), version: z.string().nullable() }),
  request: AnyJson.describe('What the caller sent, without presets; where it was cut, the beginning of its JSON text'),
  request_truncated: z.boolean(),
  preset_keys: z.array(z.string()).describe('The arguments that were fixed on the tool; their values are not recorded'),
  response: AnyJson.describe('The output; where it was cut, the beginning of its JSON text'),
  response_truncated: z.boolean(),
  error: z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), AnyJson) }).nullable(),
  duration_ms: z.number().nullable(),
  created_at: Timestamp,
  completed_at: Timestamp.nullable(),
})
export type Call = z.infer<typeof Call>

export const CallSummary = Call.omit({ request: true, response: true })
export type CallSummary = z.infer<typeof CallSummary>

/** What a caller does when its call has to wait: `Asked.patience` tells them apart. */
export type Patience = 'waits' | 'leaves' | 'comes back'

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
