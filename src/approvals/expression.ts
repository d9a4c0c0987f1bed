import { type ASTNode, Environment, serialize } from '@marcbachmann/cel-js'
import { Meter } from '../json-schema/meter.ts'
import { type Matcher, matcherOf } from '../json-schema/pattern.ts'
import { isObject, type JsonObject } from '../lib/json.ts'
import { type Evaluator, meterEvaluator } from './cel-meter.ts'

/** What an expression can be about. `agent` and `server` are null where there is none. */
export interface Facts {
  readonly input: JsonObject
  readonly action: { id: string; app: string; name: string; level: string; idempotent: boolean; destructive: boolean }
  readonly tool: { id: string; name: string }
  readonly principal: { id: string; name: string }
  readonly agent: { id: string } | null
  readonly server: { id: string; slug: string } | null
  readonly surface: string
}

/**
 * Tells whether a call meets the condition; throws a plain error, in words, where that cannot be told. What it computes is
 * taken from the budget of the call, where it is given one.
 */
export type Condition = (facts: Facts, budget?: Meter) => boolean

/** An expression that is not valid, or is about something that does not exist. */
export class ExpressionFault extends Error {}

/**
 * What evaluating one rule may cost, and all rules of one call together. One unit takes 50 ns at worst (bench/blocking.ts),
 * and most take far less.
 */
const mostPerRule = 1_500_000
const mostPerCall = 2_500_000
const deepestLoops = 2

/** What the rules on one call may cost together. */
export const callBudget = (): Meter => new Meter(mostPerCall)

const tooMuch =
  'it needs more computing than a rule may use: test action.id before anything else, and use simpler patterns and fewer loops'

const loops = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
/** Replaces the one that hands a pattern to V8, which may never come to an end. */
const matches = 'matchesInTime'

const known = new Map<string, Matcher>()

function matcher(pattern: string): Matcher {
  let found = known.get(pattern)
  if (!found) {
    if (known.size >= 500) known.clear()
    found = matcherOf(pattern)
    meter.take(compilePrice + 4 * found.cost)
    known.set(pattern, found)
  }
  return found
}

/** Of a small pattern; of a large one, its size decides. */
const compilePrice = 1000

/** Of the evaluation that is running; there is never a second one, because none waits for anything. */
let meter = new Meter()

const environment = new Environment({
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 100, maxCallArguments: 16 },
})
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
  .registerFunction(`string.${matches}(string): bool`, function (this: Evaluator, text: string, pattern: string) {
    evaluator ??= this
    const { cost, test } = matcher(pattern)
    meter.take((text.length + 1) * cost)
    return test(text)
  })

let evaluator: Evaluator | undefined
environment.evaluate(`"".${matches}("")`)
const meterOutermost = meterEvaluator(evaluator as unknown as Evaluator, () => meter)

/** Reads a CEL expression that is true or false. Throws `ExpressionFault` for any other. */
export function conditionOf(expression: string): Condition {
  const { ast } = orFault(() => environment.parse(expression))
  const depth = deepest(ast)
  if (depth > deepestLoops) throw new ExpressionFault(`loops are nested ${depth} deep; the most is ${deepestLoops}`)
  const parsed = orFault(() => environment.parse(withOwnMatches(expression, ast)))
  const { valid, type, error } = parsed.check()
  if (!valid) throw new ExpressionFault(wordsOf(error))
  if (type !== 'bool' && type !== 'dyn') throw new ExpressionFault(`gives a ${type}, and must say true or false`)
  meterOutermost(parsed.ast)
  return (facts, budget = callBudget()) => {
    const result: unknown = withinBudget(budget, () => parsed({ ...facts }))
    if (typeof result !== 'boolean') throw new Error('it says neither true nor false')
    return result
  }
}

/** The same, and its patterns are compiled too, which rules that are only read have no need of. */
export function checkExpression(expression: string): void {
  conditionOf(expression)
  meter = new Meter()
  for (const pattern of literalPatterns(environment.parse(expression).ast)) orFault(() => matcher(pattern))
}

/** Some operators of CEL ignore errors of one side, so whether the budget was exceeded is asked at the end, too. */
function withinBudget<T>(budget: Meter, run: () => T): T {
  const most = Math.min(mostPerRule, budget.left)
  meter = new Meter(most)
  try {
    const result = inWords(run)
    if (meter.left < 0) throw new Error(tooMuch)
    return result
  } catch (error) {
    throw meter.left < 0 ? new Error(tooMuch, { cause: error }) : error
  } finally {
    budget.left -= most - meter.left
  }
}

function orFault<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new ExpressionFault(wordsOf(error), { cause: error })
  }
}

function inWords<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw new Error(wordsOf(error), { cause: error })
  }
}

/** Of CEL's errors the sentence, without the drawing below it. */
const wordsOf = (error: unknown): string => {
  const { summary, message } = error as { summary?: string; message?: string }
  return String(summary ?? message ?? error)
    .split('\n')[0]
    ?.slice(0, 300) as string
}

/** A tree is made of nodes and of lists of them, and a call names its function first. */
const childrenOf = (node: unknown): unknown[] =>
  Array.isArray(node) ? node : isObject(node) && 'op' in node ? [node.args].flat() : []

const calledBy = (node: unknown): unknown =>
  isObject(node) && node.op === 'rcall' ? (node.args as unknown[])[0] : undefined

const deepest = (node: unknown): number =>
  Math.max(0, ...childrenOf(node).map(deepest)) + (loops.has(calledBy(node) as string) ? 1 : 0)

const literalPatterns = (node: unknown): string[] => {
  const inside = childrenOf(node).flatMap(literalPatterns)
  if (calledBy(node) !== 'matches') return inside
  const [pattern] = childrenOf((node as { args: unknown[] }).args[2])
  return isObject(pattern) && pattern.op === 'value' && typeof pattern.args === 'string'
    ? [...inside, pattern.args]
    : inside
}

function withOwnMatches(expression: string, ast: ASTNode): string {
  let found = false
  const renamed = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(renamed)
    if (!isObject(node) || !('op' in node)) return node
    if (calledBy(node) !== 'matches') return { ...node, args: renamed(node.args) }
    found = true
    const [, ...rest] = node.args as unknown[]
    return { ...node, args: [matches, ...(renamed(rest) as unknown[])] }
  }
  const changed = renamed(ast) as ASTNode
  return found ? serialize(changed) : expression
}
