import { z } from 'zod'
import { AnyJson, type Json, type JsonObject } from '../lib/json.ts'
import type { Surface } from './call.ts'
import type { CallerState } from './mode.ts'
import { Timestamp } from './page.ts'
import type { Grant } from './principal.ts'

export const RunStatus = z
  .enum(['running', 'waiting', 'completed', 'failed', 'cancelled'])
  .describe('waiting: for an approval, a connection, a time, an event or another run')
export type RunStatus = z.infer<typeof RunStatus>

export const isRunOver = (status: RunStatus): boolean => status !== 'running' && status !== 'waiting'

const ErrorView = z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), AnyJson) })
export type RunError = z.infer<typeof ErrorView>

export const WorkflowRun = z.object({
  id: z.string(),
  project_id: z.string(),
  kind: z.enum(['workflow', 'code']).describe('code: a program that a model wrote, in code mode'),
  tool_id: z.string().nullable(),
  name: z.string().describe('The workflow’s name at the start of the run'),
  status: RunStatus,
  dry_run: z.boolean(),
  call_id: z.string().nullable().describe('The call that started the run'),
  generation_id: z.string().nullable().describe('The agent run it belongs to'),
  rerun_of: z.string().nullable().describe('The run whose outputs were used for the first steps'),
  started_by: z.object({ id: z.string(), name: z.string() }),
  error: ErrorView.nullable(),
  created_at: Timestamp,
  last_activity_at: Timestamp,
  wakes_at: Timestamp.nullable().describe('When it continues, if it waits for a time'),
  completed_at: Timestamp.nullable(),
})
export type WorkflowRun = z.infer<typeof WorkflowRun>

export const WorkflowCall = z.object({
  call_id: z.string(),
  item: z.int().nullable().describe('The index of the item, or the number of the call in a program'),
  attempt: z.int(),
  action: z.string(),
  status: z.enum([
    'running',
    'awaiting_approval',
    'awaiting_connection',
    'awaiting_workflow',
    'awaiting_generation',
    'done',
    'failed',
  ]),
  approval_id: z.string().nullable(),
  run_id: z.string().nullable().describe('The run that the call started, while it waits for it'),
  input: AnyJson,
  output: AnyJson,
  started_at: Timestamp,
  completed_at: Timestamp.nullable(),
})

export const StepStatus = z.enum(['pending', 'running', 'waiting', 'done', 'skipped', 'failed', 'simulated'])
export type StepStatus = z.infer<typeof StepStatus>

export const WorkflowStep = z.object({
  id: z.string(),
  action: z.string().nullable(),
  status: StepStatus.describe('simulated: in a dry run, a sample of the output schema instead of a call'),
  output: AnyJson,
  error: ErrorView.nullable(),
  started_at: Timestamp.nullable(),
  completed_at: Timestamp.nullable(),
  calls: z.array(WorkflowCall),
})

export const WorkflowRunDetail = WorkflowRun.extend({
  definition: AnyJson.describe('The workflow as it was at the start of the run, or the code of a program'),
  input: AnyJson,
  output: AnyJson,
  steps: z.array(WorkflowStep),
  pending_approvals: z.array(z.object({ approval_id: z.string(), step: z.string(), expires_at: Timestamp })),
  awaited_events: z
    .array(z.object({ name: z.string(), step: z.string(), expires_at: Timestamp.nullable() }))
    .describe('The events that the run waits for'),
})
export type WorkflowRunDetail = z.infer<typeof WorkflowRunDetail>

/** What a run was started with, frozen. */
export interface RunSettings {
  /** The workflow, or the code of a program. */
  readonly definition: JsonObject
  readonly boundaries: readonly (readonly Grant[])[]
  /** The modes and the sign-in of the request that started the run. */
  readonly caller?: CallerState
  readonly end_user_id: string | null
  /** The scopes of the OAuth token that started the run. */
  readonly scopes: readonly string[] | null
  readonly context: Readonly<Record<string, string>>
  readonly surface: Surface
  readonly client: { readonly name: string | null; readonly version: string | null }
  readonly home: string | null
  /** Whether an agent or another run waits for the call that started it, and makes it again when the run is over. */
  readonly resumes: boolean
}

export type RunOutput = Json
