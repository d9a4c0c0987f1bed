import { InvalidExpression, Language } from '../expressions/language.ts'
import { Meter } from '../json-schema/meter.ts'
import type { JsonObject } from '../lib/json.ts'

/** The variables of an expression. `agent` and `server` are null if the call has none. */
export interface RuleInput {
  readonly input: JsonObject
  readonly action: { id: string; app: string; name: string; level: string; idempotent: boolean; destructive: boolean }
  readonly tool: { id: string; name: string }
  readonly principal: { id: string; name: string }
  readonly agent: { id: string } | null
  readonly server: { id: string; slug: string } | null
  readonly surface: string
}

/**
 * Returns whether a call meets the condition. Throws a plain `Error` with a readable message if evaluation fails. The cost
 * is charged to `budget` if the caller passes one.
 */
export type Condition = (facts: RuleInput, budget?: Meter) => boolean

/** The maximum cost of evaluating one rule, and all rules of one call. */
const maxPerRule = 1_500_000
const maxPerCall = 2_500_000

/** The shared budget for evaluating all rules on one call. */
export const callBudget = (): Meter => new Meter(maxPerCall)

const language = new Language({
  maxCost: maxPerRule,
  tooCostly: 'it exceeds the computing limit for rules: test action.id first, and use simpler patterns and fewer loops',
  declare: (environment) =>
    environment
      .registerVariable('input', 'map')
      .registerVariable({
        name: 'action',
        schema: {
          id: 'string',
          app: 'string',
          name: 'string',
          level: 'string',
          idempotent: 'bool',
          destructive: 'bool',
        },
      })
      .registerVariable({ name: 'tool', schema: { id: 'string', name: 'string' } })
      .registerVariable({ name: 'principal', schema: { id: 'string', name: 'string' } })
      .registerVariable('agent', 'dyn')
      .registerVariable('server', 'dyn')
      .registerVariable('surface', 'string'),
})

/** Compiles a CEL expression that returns a bool. Throws `InvalidExpression` for any other. */
export function conditionOf(expression: string): Condition {
  const { type, evaluate } = language.compile(expression)
  if (type !== 'bool' && type !== 'dyn') throw new InvalidExpression(`returns a ${type}, but must return a bool`)
  return (facts, budget = callBudget()) => {
    const result = evaluate({ ...facts }, budget)
    if (typeof result !== 'boolean') throw new Error('it returned neither true nor false')
    return result
  }
}

/** Checks a new expression, including its literal patterns. Stored rules compile their patterns only when they are used. */
export function checkExpression(expression: string): void {
  conditionOf(expression)
  language.check(expression)
}
