import { z } from 'zod'
import { AnyJson, type JsonObject } from '../lib/json.ts'
import type { StepRule, StopCondition, ToolChoice } from './agent.ts'
import { ConnectReason } from './connection.ts'
import { StepGuide } from './guide.ts'
import type { CallerState } from './mode.ts'
import { Timestamp } from './page.ts'
import type { Grant } from './principal.ts'
import type { GuideState } from './session.ts'

export const GenerationStatus = z.enum(['in_progress', 'requires_action', 'completed', 'failed', 'cancelled'])
export type GenerationStatus = z.infer<typeof GenerationStatus>

export const StopReason = z.enum(['end_turn', 'max_steps', 'stop_condition', 'depth_limit', 'cancelled', 'error'])
export type StopReason = z.infer<typeof StopReason>

/** Whether the run has ended or waits for external input, so that nothing more happens on its own. */
export const isResting = (status: GenerationStatus): boolean => status !== 'in_progress'
export const isOver = (status: GenerationStatus): boolean => status !== 'in_progress' && status !== 'requires_action'

const Failure = z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), AnyJson) })

export const Usage = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost: z.number().nullable().describe('In US dollars, if the provider’s prices are known'),
})

/** One agent run, without its messages. */
export const Generation = z.object({
  id: z.string(),
  project_id: z.string(),
  agent_id: z.string(),
  session_id: z.string().nullable().describe('The session whose turn it is'),
  trace_id: z.string().describe('The same for a run and all runs it started'),
  initiator_generation_id: z.string().nullable().describe('The run whose call started this one'),
  parent_call_id: z.string().nullable(),
  status: GenerationStatus,
  stop_reason: StopReason.nullable(),
  finish_reason: z.string().nullable().describe('Why the model stopped its last response'),
  model: z.string().nullable(),
  steps: z.int(),
  usage: Usage,
  error: Failure.nullable(),
  started_by: z.object({ id: z.string(), name: z.string() }),
  started_at: Timestamp,
  last_activity_at: Timestamp,
  completed_at: Timestamp.nullable(),
  created_at: Timestamp,
})
export type Generation = z.infer<typeof Generation>

export const PendingToolCall = z.object({
  tool_call_id: z.string(),
  tool_name: z.string(),
  args: z.record(z.string(), AnyJson),
  generation_id: z.string().optional().describe('The run it belongs to, if that is a run this one started'),
})

export const PendingApproval = z.object({
  approval_id: z.string(),
  tool_call_id: z.string(),
  tool_name: z.string(),
  expires_at: Timestamp,
})

export const PendingConnection = z.object({
  tool_call_id: z.string(),
  tool_name: z.string(),
  app: z.string(),
  reason: ConnectReason,
  connect_url: z.string().nullable().describe('The page on which the user connects the account; null in webhooks'),
  expires_at: Timestamp,
})

export const RequiredAction = z.object({
  type: z
    .enum(['submit_tool_outputs', 'decide_approvals', 'connect_accounts'])
    .describe('The caller submits outputs; a reviewer decides on approvals; a user connects accounts'),
  tool_calls: z.array(PendingToolCall),
  approvals: z.array(PendingApproval).optional(),
  connections: z.array(PendingConnection).optional(),
})

/** The current state or result of a run, for its caller. */
export const GenerationResult = z.object({
  id: z.string(),
  generation_id: z.string(),
  agent_id: z.string(),
  trace_id: z.string(),
  status: GenerationStatus,
  stop_reason: StopReason.nullable(),
  output: z
    .object({ model: z.string().nullable(), content: z.string(), finish_reason: z.string().nullable() })
    .optional(),
  required_action: RequiredAction.optional(),
  error: Failure.optional(),
  usage: Usage,
})
export type GenerationResult = z.infer<typeof GenerationResult>

/** The settings of one run, fixed when it starts. */
export interface GenerationSettings {
  readonly ai_provider_id: string
  readonly model: string | null
  readonly instructions: string | null
  readonly tool_ids: readonly string[]
  readonly active_tool_ids: readonly string[] | null
  readonly tool_choice: ToolChoice
  readonly stop_conditions: readonly StopCondition[]
  readonly step_rules: readonly StepRule[]
  readonly max_steps: number
  readonly temperature: number | null
  readonly max_context_messages: number | null
  /** The boundary policies of the agent and of all agents above it. */
  readonly boundaries: readonly (readonly Grant[])[]
  /** The modes and the sign-in of the request that started the run. */
  readonly caller?: CallerState
  readonly max_call_depth: number
  readonly tool_context: Readonly<Record<string, string>>
  /** The end user whose connections the run uses. */
  readonly end_user_id?: string | null
  /** Whether the run was started with streaming. */
  readonly streamed: boolean
  /** Set if the run is a turn of a session. */
  readonly turn?: TurnSettings
  /** Overrides submitted with the latest outputs, for the next step. */
  readonly next?: Overrides & { readonly step: number }
  /** Overrides submitted with outputs, for all steps that have no more specific ones. */
  readonly defaults?: Overrides
}

export interface TurnSettings {
  /** The turn sees the events of the session before this offset. */
  readonly before: number
  /** The policies and routines of the turn. Null without a guide. */
  readonly guide_id: string | null
  /** What the guide remembered when the turn started. */
  readonly state: GuideState
}

export interface Overrides {
  readonly tool_choice?: ToolChoice | undefined
  readonly active_tool_ids?: readonly string[] | undefined
}

/** A step in the journal: first the request to the model, then its response. */
export interface Step {
  readonly number: number
  readonly model: string | null
  readonly text: string | null
  readonly reasoning: string | null
  readonly metadata: JsonObject | null
  readonly finish_reason: string | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost: number | null
  readonly started_at: number
  readonly answered_at: number | null
  /** What the guide decided for the step. */
  readonly guide: StepGuide | null
}

/** A call of a step. */
export const StepCall = z.object({
  call_id: z.string(),
  tool_call_id: z.string(),
  tool_name: z.string(),
  tool_id: z.string().nullable(),
  action: z.string().nullable(),
  args: AnyJson,
  status: z.enum([
    'running',
    'awaiting_client',
    'awaiting_approval',
    'awaiting_generation',
    'awaiting_connection',
    'awaiting_workflow',
    'done',
    'failed',
  ]),
  output: AnyJson,
  approval_id: z.string().nullable(),
  generation_id: z.string().nullable().describe('The run it started'),
  started_at: Timestamp,
  completed_at: Timestamp.nullable(),
})

export const StepView = z.object({
  number: z.int(),
  model: z.string().nullable(),
  text: z.string().nullable(),
  reasoning: z.string().nullable(),
  finish_reason: z.string().nullable(),
  usage: Usage.nullable(),
  started_at: Timestamp,
  answered_at: Timestamp.nullable(),
  guide: StepGuide.nullable().describe('The policies and routines of the step, in a turn of a session'),
  calls: z.array(StepCall),
})
export type StepView = z.infer<typeof StepView>

/** A run with its input, steps, calls and output. */
export const GenerationDetail = Generation.extend({
  input: z.array(AnyJson).describe('The messages it started with'),
  output: GenerationResult.shape.output,
  required_action: RequiredAction.optional(),
  step_list: z.array(StepView),
})
export type GenerationDetail = z.infer<typeof GenerationDetail>

/** A run and all runs that it started, as a tree. */
export const TraceNode = GenerationDetail.extend({
  get children() {
    return z.array(TraceNode)
  },
})
export type TraceNode = z.infer<typeof TraceNode>
