import { z } from 'zod'
import { PolicyDocument } from './access-policy.ts'
import { ModeSlug } from './mode.ts'
import { Id, Text, Timestamp } from './page.ts'

/** The name of a tool as the model sees it. */
const ToolName = z.string().min(1).max(64)

export const ToolChoice = z.union([
  z.enum(['auto', 'required', 'none']),
  z.strictObject({ type: z.literal('tool'), tool_name: ToolName }),
])
export type ToolChoice = z.infer<typeof ToolChoice>

export const StopCondition = z.strictObject({ type: z.literal('hasToolCall'), tool_name: ToolName })
export type StopCondition = z.infer<typeof StopCondition>

const ToolIds = z.array(Id).max(500)

export const StepRule = z.strictObject({
  step: z.int().min(1).describe('Counted from 1'),
  tool_choice: ToolChoice.optional(),
  active_tool_ids: ToolIds.optional(),
})
export type StepRule = z.infer<typeof StepRule>

export const maxSteps = 200

export const AgentFields = {
  name: Text.trim().min(1).max(200),
  ai_provider_id: Id.describe('The AI provider to use'),
  model: Text.min(1).max(200).nullable().describe('The model; defaults to the provider’s default model'),
  instructions: Text.max(200_000).nullable().describe('System prompt'),
  tool_ids: ToolIds.describe('Tools that the agent has'),
  active_tool_ids: ToolIds.nullable().describe('The tools that the model can call; defaults to all of them'),
  tool_choice: ToolChoice.describe('Whether the model must call a tool, or a specific one'),
  stop_conditions: z.array(StopCondition).max(50).describe('The run ends when any of these is met'),
  step_rules: z.array(StepRule).max(maxSteps).describe('Settings for specific steps'),
  max_steps: z.int().min(1).max(maxSteps).describe('Maximum number of steps; the run ends after the last one'),
  temperature: z.number().min(0).max(2).nullable(),
  boundary_policy: PolicyDocument.nullable().describe(
    'The most that platform tools can do in this agent, for every caller: both this policy and the caller’s own must allow an operation',
  ),
  max_context_messages: z
    .int()
    .min(1)
    .max(10_000)
    .nullable()
    .describe('How many of the latest messages the model sees; defaults to all'),
  mode: ModeSlug.nullable().describe('Slug of the mode of its calls, in addition to the mode of the caller'),
}

/** A model with instructions and tools. */
export const Agent = z.object({
  id: z.string(),
  project_id: z.string(),
  ...AgentFields,
  has_guide: z.boolean().describe('Whether a manifest gives it policies and routines'),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Agent = z.infer<typeof Agent>
export type AgentDraft = Omit<Agent, 'id' | 'project_id' | 'has_guide' | 'created_at' | 'updated_at'>
