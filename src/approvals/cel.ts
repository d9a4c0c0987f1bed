import { type ASTNode, Environment, serialize } from '@marcbachmann/cel-js'
import { Meter } from '../json-schema/meter.ts'
import { type Matcher, matcherOf } from '../json-schema/pattern.ts'
import { isObject } from '../lib/json.ts'
import { type Evaluator, meterEvaluator } from './cel-meter.ts'

/** Thrown for an expression that is invalid or refers to something that does not exist. */
export class InvalidExpression extends Error {}

/**
 * The maximum cost of evaluating one rule, and all rules of one call. One unit takes at most 50 ns (bench/blocking.ts),
 * most take far less.
 */
const maxPerRule = 1_500_000
const maxPerCall = 2_500_000
const maxLoopsDepth = 2

/** The shared budget for evaluating all rules on one call. */
export const callBudget = (): Meter => new Meter(maxPerCall)

const limitExceeded =
  'it exceeds the computing limit for rules: test action.id first, and use simpler patterns and fewer loops'

const loops = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
/** Replaces `matches`, which uses a V8 regular expression and could backtrack forever. */
const matches = 'matchesInTime'

const matchers = new Map<string, Matcher>()

function matcher(pattern: string): Matcher {
  let found = matchers.get(pattern)
  if (!found) {
    if (matchers.size >= 500) matchers.clear()
    found = matcherOf(pattern)
    meter.take(compilePrice + 4 * found.cost)
    matchers.set(pattern, found)
  }
  return found
}

/** The base cost of compiling a pattern. The rest depends on its size. */
const compilePrice = 1000

/** The meter of the current evaluation. Evaluation is synchronous, so there is only ever one. */
let meter = new Meter()

const limits = { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 100, maxCallArguments: 16 }

/** Evaluates an expression that returns a bool. Throws a plain `Error` with a readable message if that fails. */
export type CelCondition<Facts> = (facts: Facts, budget?: Meter) => boolean

export interface CelLanguage<Facts> {
  /** Compiles an expression that returns a bool. Throws `InvalidExpression` for any other. */
  conditionOf(expression: string): CelCondition<Facts>
  /** Checks a new expression, including its literal patterns. Otherwise patterns are compiled only when they are used. */
  check(expression: string): void
}

/** CEL with these variables, and with bounded evaluation. */
export function celLanguage<Facts extends object>(
  withVariables: (environment: Environment) => Environment,
): CelLanguage<Facts> {
  let evaluator: Evaluator | undefined
  const bare = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits })
  const environment = withVariables(bare).registerFunction(
    `string.${matches}(string): bool`,
    function (this: Evaluator, text: string, pattern: string) {
      evaluator ??= this
      const { cost, test } = matcher(pattern)
      meter.take((text.length + 1) * cost)
      return test(text)
    },
  )
  environment.evaluate(`"".${matches}("")`)
  const meterOutermost = meterEvaluator(evaluator as unknown as Evaluator, () => meter)

  function conditionOf(expression: string): CelCondition<Facts> {
    const { ast } = orInvalid(() => environment.parse(expression))
    const depth = deepest(ast)
    if (depth > maxLoopsDepth)
      throw new InvalidExpression(`loops are nested ${depth} levels deep; the limit is ${maxLoopsDepth}`)
    const parsed = orInvalid(() => environment.parse(withOwnMatches(expression, ast)))
    const { valid, type, error } = parsed.check()
    if (!valid) throw new InvalidExpression(summaryOf(error))
    if (type !== 'bool' && type !== 'dyn') throw new InvalidExpression(`returns a ${type}, but must return a bool`)
    meterOutermost(parsed.ast)
    return (facts, budget = callBudget()) => {
      const result: unknown = withinBudget(budget, () => parsed({ ...facts }))
      if (typeof result !== 'boolean') throw new Error('it returned neither true nor false')
      return result
    }
  }

  return {
    conditionOf,
    check(expression) {
      conditionOf(expression)
      meter = new Meter()
      for (const pattern of literalPatterns(environment.parse(expression).ast)) orInvalid(() => matcher(pattern))
    },
  }
}

/** Checks the budget at the end too, because some CEL operators ignore errors of one side. */
function withinBudget<T>(budget: Meter, run: () => T): T {
  const most = Math.min(maxPerRule, budget.left)
  meter = new Meter(most)
  try {
    const result = withPlainErrors(run)
    if (meter.left < 0) throw new Error(limitExceeded)
    return result
  } catch (error) {
    throw meter.left < 0 ? new Error(limitExceeded, { cause: error }) : error
  } finally {
    budget.left -= most - meter.left
  }
}

function orInvalid<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new InvalidExpression(summaryOf(error), { cause: error })
  }
}

function withPlainErrors<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw new Error(summaryOf(error), { cause: error })
  }
}

/** The message of a CEL error, without the source excerpt below it. */
const summaryOf = (error: unknown): string => {
  const { summary, message } = error as { summary?: string; message?: string }
  return String(summary ?? message ?? error)
    .split('\n')[0]
    ?.slice(0, 300) as string
}

/** The AST consists of nodes and lists of nodes. The first argument of a call is the name of the function. */
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
