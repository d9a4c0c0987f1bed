import type { NewAgent } from '../../api.ts'
import type { Agent } from './records.ts'

/** An agent as edited in the form. */
export interface Draft {
  readonly name: string
  readonly providerId: string
  readonly model: string
  readonly instructions: string
  readonly toolIds: readonly string[]
  readonly activeToolIds: readonly string[] | null
  /** `auto`, `required`, `none`, or the name of the tool that must be called after `tool:`. */
  readonly toolChoice: string
  readonly stopAt: readonly string[]
  readonly maxSteps: string
  readonly temperature: string
  readonly maxContext: string
  /** Undefined while the text is not valid JSON. */
  readonly stepRules: unknown
  readonly boundary: unknown
  readonly mode: string
}

export const emptyDraft: Draft = {
  name: '',
  providerId: '',
  model: '',
  instructions: '',
  toolIds: [],
  activeToolIds: null,
  toolChoice: 'auto',
  stopAt: [],
  maxSteps: '20',
  temperature: '',
  maxContext: '',
  stepRules: null,
  boundary: null,
  mode: '',
}

export const draftOf = (agent: Agent): Draft => ({
  name: agent.name,
  providerId: agent.ai_provider_id,
  model: agent.model ?? '',
  instructions: agent.instructions ?? '',
  toolIds: agent.tool_ids,
  activeToolIds: agent.active_tool_ids,
  toolChoice: typeof agent.tool_choice === 'string' ? agent.tool_choice : `tool:${agent.tool_choice.tool_name}`,
  stopAt: agent.stop_conditions.map(({ tool_name }) => tool_name),
  maxSteps: String(agent.max_steps),
  temperature: agent.temperature === null ? '' : String(agent.temperature),
  maxContext: agent.max_context_messages === null ? '' : String(agent.max_context_messages),
  stepRules: agent.step_rules.length === 0 ? null : agent.step_rules,
  boundary: agent.boundary_policy,
  mode: agent.mode ?? '',
})

export function bodyOf(draft: Draft): NewAgent {
  const { toolChoice } = draft
  return {
    name: draft.name.trim(),
    ai_provider_id: draft.providerId,
    model: draft.model.trim() || null,
    instructions: draft.instructions.trim() === '' ? null : draft.instructions,
    tool_ids: [...draft.toolIds],
    // Drop tools that the agent no longer has.
    active_tool_ids: draft.activeToolIds?.filter((id) => draft.toolIds.includes(id)) ?? null,
    tool_choice: toolChoice.startsWith('tool:')
      ? { type: 'tool', tool_name: toolChoice.slice('tool:'.length) }
      : (toolChoice as 'auto'),
    stop_conditions: draft.stopAt
      .filter((name) => name !== '')
      .map((tool_name) => ({ type: 'hasToolCall' as const, tool_name })),
    step_rules: (draft.stepRules ?? []) as [],
    max_steps: Number(draft.maxSteps),
    temperature: draft.temperature.trim() === '' ? null : Number(draft.temperature),
    boundary_policy: (draft.boundary ?? null) as null,
    mode: draft.mode || null,
    max_context_messages: draft.maxContext.trim() === '' ? null : Number(draft.maxContext),
  }
}
