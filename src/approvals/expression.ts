import type { Environment } from '@marcbachmann/cel-js'
import { type Condition as ConditionOn, conditionsOver } from '../expressions/condition.ts'
import type { JsonObject } from '../lib/json.ts'

export { conditionBudget as callBudget } from '../expressions/condition.ts'
export { InvalidExpression } from '../expressions/language.ts'

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
export type Condition = ConditionOn<RuleInput>

const withVariables = (environment: Environment): Environment =>
  environment
    .registerVariable('input', 'map')
    .registerVariable({
      name: 'action',
      schema: { id: 'string', app: 'string', name: 'string', level: 'string', idempotent: 'bool', destructive: 'bool' },
    })
    .registerVariable({ name: 'tool', schema: { id: 'string', name: 'string' } })
    .registerVariable({ name: 'principal', schema: { id: 'string', name: 'string' } })
    .registerVariable('agent', 'dyn')
    .registerVariable('server', 'dyn')
    .registerVariable('surface', 'string')

const { conditionOf, check } = conditionsOver<RuleInput>(withVariables)

export { check as checkExpression, conditionOf }
