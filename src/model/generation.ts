import { z } from 'zod'
import { AnyJson, type JsonObject } from '../lib/json.ts'
import type { StepRule, StopCondition, ToolChoice } from './agent.ts'
import { Timestamp } from './page.ts'
import type { Grant } from './principal.ts'

export const GenerationStatus = z.enum(['in_progress', 'requires_action', 'completed', 'failed', 'cancelled'])
export type GenerationStatus = z.infer<typeof GenerationStatus>

export const StopReason = z.enum(['end_turn', 'max_steps', 'stop_condition', 'depth_limit', 'cancelled', 'error'])
export type StopReason = z.infer<typeof StopReason>

/** Over, or waiting for someone outside: nothing more comes by itself. */
export const isResting = (status: GenerationStatus): boolean => status !== 'in_progress'
export const isOver = (status: GenerationStatus): boolean => status !== 'in_progress' && status !== 'requires_action'

const Failure = z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), AnyJson) })

export const Usage = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost: z.number().nullable().describe('In US dollars, where the provider’s prices are known'),
})

/** What one run of an agent came to, without what was said. */
export const Generation = z.object({
  id: z.string(),
  project_id: z.string(),
  agent_id: z.string(),
  trace_id: z.string().describe('The same for a run and all that it started'),
  initiator_generation_id: z.string().nullable().describe('The run whose call started this one'),
  parent_call_id: z.string().nullable(),
  status: GenerationStatus,
  stop_reason: StopReason.nullable(),
  finish_reason: z.string().nullable().describe('Why the model ended its last answer'),
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
  generation_id: z.string().optional().describe('The run that it belongs to, where that is one this one has started'),
})

export const PendingApproval = z.object({
  approval_id: z.string(),
  tool_call_id: z.string(),
  tool_name: z.string(),
  expires_at: Timestamp,
})

export const RequiredAction = z.object({
  type: z
    .enum(['submit_tool_outputs', 'decide_approvals'])
    .describe('Outputs come from the caller; a decision comes from a reviewer'),
  tool_calls: z.array(PendingToolCall),
  approvals: z.array(PendingApproval).optional(),
})

/** How a run stands, for whoever started it. */
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

/** What holds for one run, frozen when it starts. */
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
  /** Those of the agent and of every agent above it. */
  readonly boundaries: readonly (readonly Grant[])[]
  readonly max_call_depth: number
  readonly tool_context: Readonly<Record<string, string>>
  /** Someone was promised to hear of it word by word. */
  readonly streamed: boolean
  /** What came with the latest outputs, for the step after them. */
  readonly next?: Overrides & { readonly step: number }
  /** What came with outputs, for all steps that nothing else is said of. */
  readonly defaults?: Overrides
}

export interface Overrides {
  readonly tool_choice?: ToolChoice | undefined
  readonly active_tool_ids?: readonly string[] | undefined
}

/** A step as the journal has it: asked of the model, then answered. */
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
}

const StepView = z.object({
  number: z.int(),
  model: z.string().nullable(),
  text: z.string().nullable(),
  reasoning: z.string().nullable(),
  finish_reason: z.string().nullable(),
  usage: Usage.nullable(),
  started_at: Timestamp,
  answered_at: Timestamp.nullable(),
  calls: z.array(
    z.object({
      call_id: z.string(),
      tool_call_id: z.string(),
      tool_name: z.string(),
      tool_id: z.string().nullable(),
      action: z.string().nullable(),
      args: AnyJson,
      status: z.enum(['running', 'awaiting_client', 'awaiting_approval', 'awaiting_generation', 'done', 'failed']),
      output: AnyJson,
      approval_id: z.string().nullable(),
      generation_id: z.string().nullable().describe('The run that it started'),
      started_at: Timestamp,
      completed_at: Timestamp.nullable(),
    }),
  ),
})
export type StepView = z.infer<typeof StepView>

/** A run whole: what it was given, each step, each call, what it came to. */
export const GenerationDetail = Generation.extend({
  input: z.array(AnyJson).describe('The messages it started with'),
  output: GenerationResult.shape.output,
  required_action: RequiredAction.optional(),
  step_list: z.array(StepView),
})
export type GenerationDetail = z.infer<typeof GenerationDetail>

/** A run and all that it started, as a tree. */
export type TraceNode = GenerationDetail & { readonly children: readonly TraceNode[] }
