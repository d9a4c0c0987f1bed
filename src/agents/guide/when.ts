import type { Environment } from '@marcbachmann/cel-js'
import { type Condition, conditionBudget, conditionsOver } from '../../expressions/condition.ts'
import { Language } from '../../expressions/language.ts'
import { type PlacedFault, templateOf } from '../../expressions/template.ts'
import type { Meter } from '../../json-schema/meter.ts'
import type { Json, JsonObject } from '../../lib/json.ts'

export { InvalidExpression } from '../../expressions/language.ts'

/** What a `when` can refer to. */
export interface WhenFacts {
  readonly session: {
    readonly id: string
    readonly end_user_id: string | null
    readonly metadata: JsonObject
    /** Those of `session.metadata.variables`, and those that were fetched. */
    readonly variables: JsonObject
  }
  /** The outputs of think nodes, by node. */
  readonly steps: JsonObject
  /** The latest result of each tool, by namespace:name. */
  readonly tools: {
    readonly [toolId: string]: { readonly ok: boolean; readonly result: Json; readonly arguments: Json }
  }
  /** The customer's latest message. */
  readonly message: string
}

const withVariables = (environment: Environment): Environment =>
  environment
    .registerVariable('session', 'map')
    .registerVariable('steps', 'map')
    .registerVariable('tools', 'map')
    .registerVariable('message', 'string')

const language = conditionsOver<WhenFacts>(withVariables)
const texts = new Language({
  declare: withVariables,
  maxCost: 1_500_000,
  tooCostly: 'it exceeds the computing limit: use simpler expressions',
})

const compiled = new Map<string, Condition<WhenFacts>>()
const maxCompiled = 2000

/** `${{ session.metadata.vip }}` and `session.metadata.vip` are the same. */
const bare = (expression: string): string => /^\s*\$\{\{(.*)\}\}\s*$/s.exec(expression)?.[1] ?? expression

/** Throws `InvalidExpression`. */
export const checkWhen = (expression: string): void => language.check(bare(expression))

/** What is wrong with the `${{ … }}` in a value, and where. */
export function templateFaults(value: Json): PlacedFault[] {
  const faults: PlacedFault[] = []
  templateOf(value, '', texts, faults)
  return faults
}

/** The value with its expressions evaluated. A text of several parts is a text. */
export function fillTemplate<T extends Json>(
  value: T,
  facts: WhenFacts,
): { readonly value?: Json | undefined; readonly fault?: string } {
  try {
    const template = templateOf(value, '', texts, [])
    return { value: template.evaluate(Object.fromEntries(Object.entries(facts)), conditionBudget()) }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}

/**
 * Whether an expression is true. One that cannot be evaluated, for example because a field is missing, is false, and the
 * reason is reported.
 */
export function evaluateWhen(
  expression: string,
  facts: WhenFacts,
  budget: Meter = conditionBudget(),
): { readonly holds: boolean; readonly fault?: string } {
  try {
    const known = compiled.get(expression) ?? language.conditionOf(bare(expression))
    if (compiled.size >= maxCompiled) compiled.clear()
    compiled.set(expression, known)
    return { holds: known(facts, budget) }
  } catch (error) {
    return { holds: false, fault: (error as Error).message }
  }
}
