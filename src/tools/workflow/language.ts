import type { Environment } from '@marcbachmann/cel-js'
import { Language } from '../../expressions/language.ts'
import { Meter } from '../../json-schema/meter.ts'

/** The maximum cost of one expression, at most 15 ms, and of all expressions of one step or item. */
const maxPerExpression = 300_000
const maxPerStep = 600_000

export const stepBudget = (): Meter => new Meter(maxPerStep)

/** Numbers from JSON are doubles and literals are integers. Standard CEL does not mix them. */
function withMixedNumbers(environment: Environment): Environment {
  const operators: Record<string, (left: number, right: number) => number> = {
    '+': (left, right) => left + right,
    '-': (left, right) => left - right,
    '*': (left, right) => left * right,
    '/': (left, right) => left / right,
    '%': (left, right) => left % right,
  }
  for (const [operator, compute] of Object.entries(operators)) {
    environment.registerOperator(`int ${operator} double: double`, (left, right) => compute(Number(left), right))
    environment.registerOperator(`double ${operator} int: double`, (left, right) => compute(left, Number(right)))
  }
  return environment.registerOperator('double % double: double', (left, right) => left % right)
}

/**
 * The expressions of workflows. `item` and `index` are set in steps with `for_each`, `error` in `on_error`; otherwise they
 * are null.
 */
export const language = new Language({
  maxCost: maxPerExpression,
  tooCostly: 'it exceeds the computing limit for expressions: make it simpler, or split the step',
  declare: (environment) =>
    withMixedNumbers(environment)
      .registerVariable('input', 'map')
      .registerVariable('steps', 'map')
      .registerVariable('item', 'dyn')
      .registerVariable('index', 'dyn')
      .registerVariable('error', 'dyn'),
})
