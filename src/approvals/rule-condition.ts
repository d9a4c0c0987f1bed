import { type ASTNode, Environment, serialize } from '@marcbachmann/cel-js'
import type { Meter } from '../json-schema/meter.ts'
import { isObject } from '../lib/json.ts'
import { type Condition, callBudget, conditionOf, type Facts } from './expression.ts'

/** What is known of a condition before its input is looked at; undefined where that depends on the input. */
type Early = (facts: Facts, budget: Meter) => boolean | undefined

/** Reads what `conditionOf` has accepted. */
const syntax = new Environment({ enableOptionalTypes: true })

/**
 * The condition of an approval rule. As much of it as possible is decided without the input, in any order, as CEL has it
 * for `&&` and `||`: a rule about one action says nothing of a call of another, however large or unusual its input is.
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
    // `a || b` is decided by one that is true, `a && b` by one that is false.
    const decides = op === '||'
    const sides = (args as ASTNode[]).map(earlyOf)
    return (facts, budget) => {
      let isUnknown = false
      for (const side of sides) {
        const known = side(facts, budget)
        if (known === decides) return decides
        isUnknown ||= known === undefined
      }
      return isUnknown ? undefined : !decides
    }
  }
  return mentionsInput(node) ? () => undefined : leafOf(node)
}

const not = (known: boolean | undefined) => (known === undefined ? undefined : !known)

/** What cannot be told of a part, such as the id of an agent where there is none, the whole condition has to say. */
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
