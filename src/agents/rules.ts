import type { ToolChoice } from '../model/agent.ts'
import type { GenerationSettings, Overrides, Step, StopReason } from '../model/generation.ts'
import type { JournalCall } from '../store/journal.ts'

export interface StepSettings {
  readonly toolChoice: ToolChoice
  /** Null is all that the agent has. */
  readonly activeToolIds: readonly string[] | null
}

/** What holds for one step: what came for it with outputs, then its rule, then what came for all steps, then the agent's. */
export function settingsFor(step: number, settings: GenerationSettings): StepSettings {
  const { next, step_rules, defaults, tool_choice, active_tool_ids } = settings
  const layers: readonly (Overrides | undefined)[] = [
    next?.step === step ? next : undefined,
    step_rules.find((rule) => rule.step === step),
    defaults,
  ]
  const ids = first(layers, 'active_tool_ids') ?? active_tool_ids
  return {
    toolChoice: first(layers, 'tool_choice') ?? tool_choice,
    activeToolIds: ids && ids.length > 0 ? ids : null,
  }
}

const first = <Field extends keyof Overrides>(layers: readonly (Overrides | undefined)[], field: Field) =>
  layers.find((layer) => layer?.[field] !== undefined)?.[field]

/** Whether the run ends with a step whose calls are all done, and why. */
export function stopAfter(
  step: Step,
  calls: readonly JournalCall[],
  { stop_conditions, max_steps }: Pick<GenerationSettings, 'stop_conditions' | 'max_steps'>,
): StopReason | undefined {
  if (calls.length === 0) return 'end_turn'
  if (stop_conditions.some(({ tool_name }) => calls.some((call) => call.tool_name === tool_name))) {
    return 'stop_condition'
  }
  return step.number >= max_steps ? 'max_steps' : undefined
}
