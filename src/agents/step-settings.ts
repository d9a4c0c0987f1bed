import type { ToolChoice } from '../model/agent.ts'
import type { GenerationSettings, Overrides, Step, StopReason } from '../model/generation.ts'
import type { JournalCall } from '../store/journal.ts'

export interface StepSettings {
  readonly toolChoice: ToolChoice
  /** Null means all tools of the agent. */
  readonly activeToolIds: readonly string[] | null
}

/**
 * The settings of one step. Precedence: the settings submitted with outputs for this step, the rule for this step, the
 * defaults submitted for all steps, the agent's own.
 */
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

/** Why the run ends after this step, or undefined if it continues. All calls of the step must be done. */
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
