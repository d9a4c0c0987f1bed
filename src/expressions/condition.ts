import type { Environment } from '@marcbachmann/cel-js'
import { Meter } from '../json-schema/meter.ts'
import { InvalidExpression, Language } from './language.ts'

/** The maximum cost of evaluating one condition, and all conditions on one call or turn. */
const maxEach = 1_500_000
const maxTogether = 2_500_000

/** The shared budget for evaluating all conditions on one call or turn. */
export const conditionBudget = (): Meter => new Meter(maxTogether)

/** Evaluates an expression that returns a bool. Throws a plain `Error` with a readable message if that fails. */
export type Condition<Facts> = (facts: Facts, budget?: Meter) => boolean

export interface Conditions<Facts> {
  /** Compiles a CEL expression that returns a bool. Throws `InvalidExpression` for any other. */
  conditionOf(expression: string): Condition<Facts>
  /** Checks a new expression, including its literal patterns. Otherwise patterns are compiled only when they are used. */
  check(expression: string): void
}

/** Conditions in CEL over these variables. */
export function conditionsOver<Facts extends object>(
  declare: (environment: Environment) => Environment,
): Conditions<Facts> {
  const tooCostly =
    'it exceeds the computing limit for rules: test action.id first, and use simpler patterns and fewer loops'
  const language = new Language({ declare, maxCost: maxEach, tooCostly })
  const conditionOf = (expression: string): Condition<Facts> => {
    const { type, evaluate } = language.compile(expression)
    if (type !== 'bool' && type !== 'dyn') throw new InvalidExpression(`returns a ${type}, but must return a bool`)
    return (facts, budget = conditionBudget()) => {
      const result = evaluate(Object.fromEntries(Object.entries(facts)), budget)
      if (typeof result !== 'boolean') throw new Error('it returned neither true nor false')
      return result
    }
  }
  return {
    conditionOf,
    check(expression) {
      conditionOf(expression)
      language.check(expression)
    },
  }
}
