import { type ASTNode, Environment, serialize } from '@marcbachmann/cel-js'
import type { Meter } from '../json-schema/meter.ts'
import { isObject } from '../lib/json.ts'
import { type Condition, callBudget, conditionOf, type RuleInput } from './expression.ts'

/** Evaluates a condition without the input of the call; undefined if the result depends on it. */
type Early = (facts: RuleInput, budget: Meter) => boolean | undefined

/** Parses expressions that `conditionOf` has already accepted. */
const syntax = new Environment({ enableOptionalTypes: true })

/**
 * Compiles the condition of an approval rule. Evaluates as much as possible without the input, in any order, which CEL
 * allows for `&&` and `||`. So a rule about one action never fails on calls of another one because of their input.
 */
export function ruleConditionOf(expression: string): Condition {
  const whole = conditionOf(expression)
  const early = earlyOf(syntax.parse(expression).ast)
  return (facts, budget = callBudget()) => early({ ...facts, input: {} }, budget) ?? whole(facts, budget)
}

function earlyOf(node: ASTNode): Early {
  const { op, args } = node as { op: string; args: unknown }
  if (op === '!_') {
    const inner = earlyOf(args as ASTNode)
    return (facts, budget) => not(inner(facts, budget))
  }
  if (op === '&&' || op === '||') {
    // A true side decides `a || b`, a false side decides `a && b`.
    const decides = op === '||'
    const sides = (args as ASTNode[]).map(earlyOf)
    return (facts, budget) => {
      let isUnknown = false
      for (const side of sides) {
        const result = side(facts, budget)
        if (result === decides) return decides
        isUnknown ||= result === undefined
      }
      return isUnknown ? undefined : !decides
    }
  }
  return mentionsInput(node) ? () => undefined : leafOf(node)
}

const not = (result: boolean | undefined) => (result === undefined ? undefined : !result)

/** A part that fails alone, such as the id of a missing agent, is left to the evaluation of the whole condition. */
function leafOf(node: ASTNode): Early {
  let condition: Condition
  try {
    condition = conditionOf(serialize(node))
  } catch {
    return () => undefined
  }
  return (facts, budget) => {
    try {
      return condition(facts, budget)
    } catch {
      return undefined
    }
  }
}

function mentionsInput(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(mentionsInput)
  if (!isObject(node) || !('op' in node)) return false
  return node.op === 'id' ? node.args === 'input' : mentionsInput(node.args)
}
