import { isObject, type Json } from '../../lib/json.ts'
import type { Guide, StepGuide, Variable } from '../../model/guide.ts'
import type { GuideState } from '../../model/session.ts'
import type { Journal } from '../../store/journal.ts'
import { resultOf } from '../sessions/turn-events.ts'
import type { Toolbox } from '../toolbox.ts'
import { fillTemplate, type WhenFacts } from './when.ts'

/*
 * A variable is the result of a tool that a session keeps. If some are missing or too old, the first step of a turn fetches
 * them: it has calls, like a step of the model, but no model is asked. So they are made, recorded and resumed as all calls.
 */

export type VariableValues = NonNullable<GuideState['variables']>

/** The calls that fetch what is missing or too old. Those that cannot be made are reported. */
export function variablesToFetch(
  { variables }: Pick<Guide, 'variables'>,
  known: VariableValues,
  { facts, toolbox, now }: { facts: WhenFacts; toolbox: Toolbox; now: number },
): { readonly fetch: NonNullable<StepGuide['fetch']>; readonly faults: string[] } {
  const faults: string[] = []
  const fetch = variables
    .filter((variable) => isDue(variable, known, now))
    .flatMap((variable) => {
      const { id, tool } = variable
      const name = toolbox.active(null).find(({ prepared }) => prepared.action.id === tool)?.name
      const args = fillTemplate(variable.arguments, facts)
      const fault = name === undefined ? `${tool} is not available` : args.fault
      if (fault !== undefined) faults.push(`variable ${id}: ${fault}`)
      return name === undefined || args.fault !== undefined
        ? []
        : [{ variable: id, tool_id: tool, tool_name: name, arguments: isObject(args.value) ? args.value : {} }]
    })
  return { fetch, faults }
}

function isDue({ id, max_age_seconds }: Variable, known: VariableValues, now: number): boolean {
  const value = known[id]
  if (!value) return true
  return max_age_seconds !== null && now - value.at >= max_age_seconds * 1000
}

/** What the turn has fetched. A call that failed leaves the value as it was. */
export function fetchedIn({ steps, calls }: Journal): VariableValues {
  const step = steps.find(({ guide }) => guide?.fetch !== undefined)
  const own = calls.filter((call) => call.step === step?.number && call.output !== undefined && !call.is_error)
  const values: { [id: string]: { value: Json; at: number } } = {}
  for (const call of own) {
    const variable = step?.guide?.fetch?.[call.position]?.variable
    if (variable !== undefined) values[variable] = { value: resultOf(call), at: call.completed_at ?? call.created_at }
  }
  return values
}

export const valuesOf = (variables: VariableValues): { [id: string]: Json } =>
  Object.fromEntries(Object.entries(variables).map(([id, { value }]) => [id, value]))
