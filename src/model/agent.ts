import { z } from 'zod'
import { PolicyDocument } from './access-policy.ts'
import { Id, Text, Timestamp } from './page.ts'

/** Tools are chosen by the names that a model sees. */
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
  ai_provider_id: Id.describe('Who answers for it'),
  model: Text.min(1).max(200).nullable().describe('Which model; the provider’s default unless given'),
  instructions: Text.max(200_000).nullable().describe('What the model is told first'),
  tool_ids: ToolIds.describe('What it can call'),
  active_tool_ids: ToolIds.nullable().describe('Which of those the model may call; all of them unless given'),
  tool_choice: ToolChoice.describe('Whether the model must call a tool, or which one'),
  stop_conditions: z.array(StopCondition).max(50).describe('Any of these ends the run'),
  step_rules: z.array(StepRule).max(maxSteps).describe('What is different at some steps'),
  max_steps: z.int().min(1).max(maxSteps).describe('The run ends after so many'),
  temperature: z.number().min(0).max(2).nullable(),
  boundary_policy: PolicyDocument.nullable().describe(
    'What platform tools may do at most, whoever runs the agent: both this and the caller’s policies must allow it',
  ),
  max_context_messages: z
    .int()
    .min(1)
    .max(10_000)
    .nullable()
    .describe('How many of the latest messages the model sees; all of them unless given'),
}

/** A model with instructions and tools. */
export const Agent = z.object({
  id: z.string(),
  project_id: z.string(),
  ...AgentFields,
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Agent = z.infer<typeof Agent>
export type AgentDraft = Omit<Agent, 'id' | 'project_id' | 'created_at' | 'updated_at'>
