import { type ASTNode, Environment, serialize } from '@marcbachmann/cel-js'
import { Meter } from '../json-schema/meter.ts'
import { type Matcher, matcherOf } from '../json-schema/pattern.ts'
import { isObject } from '../lib/json.ts'
import { type Evaluator, meterEvaluator } from './cel-meter.ts'

/** Thrown for an expression that is invalid or refers to something that does not exist. */
export class InvalidExpression extends Error {
  /** Where in the expression, in characters from its start. */
  readonly at: number | undefined

  constructor(message: string, { at, ...options }: ErrorOptions & { readonly at?: number | undefined } = {}) {
    super(message, options)
    this.at = at
  }
}

/** A compiled expression. */
export interface Expression {
  /** The type of its result, as CEL names it; `dyn` if it depends on the variables. */
  readonly type: string
  readonly ast: ASTNode
  /** Throws a plain `Error` with a readable message if it fails. The cost is charged to `budget`. */
  evaluate(variables: Readonly<Record<string, unknown>>, budget: Meter): unknown
}

export interface LanguageOptions {
  /** Declares the variables. */
  declare(environment: Environment): Environment
  /** The maximum cost of one evaluation. One unit takes at most 50 ns (bench/blocking.ts), most take far less. */
  readonly maxCost: number
  /** The message if it costs more. */
  readonly tooCostly: string
}

const maxLoopsDepth = 2
const loops = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
/** Replaces `matches`, which uses a V8 regular expression and could backtrack forever. */
const matches = 'matchesInTime'
const matchers = new Map<string, Matcher>()
/** The base cost of compiling a pattern. The rest depends on its size. */
const compilePrice = 1000

/** The meter of the current evaluation. Evaluation is synchronous, so there is only ever one. */
let meter = new Meter()

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

/** CEL with a set of variables. Every evaluation is limited in its cost. */
export class Language {
  readonly #environment: Environment
  readonly #meterOutermost: (outermost: object) => void
  readonly #options: LanguageOptions

  constructor(options: LanguageOptions) {
    this.#options = options
    let evaluator: Evaluator | undefined
    const environment = options
      .declare(
        new Environment({
          enableOptionalTypes: true,
          homogeneousAggregateLiterals: false,
          limits: { maxAstNodes: 500, maxDepth: 40, maxListElements: 200, maxMapEntries: 100, maxCallArguments: 16 },
        }),
      )
      .registerFunction(`string.${matches}(string): bool`, function (this: Evaluator, text: string, pattern: string) {
        evaluator ??= this
        const { cost, test } = matcher(pattern)
        meter.take((text.length + 1) * cost)
        return test(text)
      })
    environment.evaluate(`"".${matches}("")`)
    this.#meterOutermost = meterEvaluator(evaluator as unknown as Evaluator, () => meter)
    this.#environment = environment
  }

  compile(expression: string): Expression {
    const { ast } = orInvalid(() => this.#environment.parse(expression))
    const depth = deepest(ast)
    if (depth > maxLoopsDepth)
      throw new InvalidExpression(`loops are nested ${depth} levels deep; the limit is ${maxLoopsDepth}`)
    const parsed = orInvalid(() => this.#environment.parse(withOwnMatches(expression, ast)))
    const { valid, type = 'dyn', error } = parsed.check()
    if (!valid) throw invalid(error)
    this.#meterOutermost(parsed.ast)
    return {
      type,
      ast,
      evaluate: (variables, budget) => this.#withinBudget(budget, () => parsed({ ...variables })),
    }
  }

  /** Compiles the literal patterns of an expression too, which otherwise happens when they are used. */
  check(expression: string): void {
    const { ast } = this.compile(expression)
    meter = new Meter()
    for (const pattern of literalPatterns(ast)) orInvalid(() => matcher(pattern))
  }

  /** Checks the budget at the end too, because some CEL operators ignore errors of one side. */
  #withinBudget<T>(budget: Meter, run: () => T): T {
    const { maxCost, tooCostly } = this.#options
    const most = Math.min(maxCost, budget.left)
    meter = new Meter(most)
    try {
      const result = withPlainErrors(run)
      if (meter.left < 0) throw new Error(tooCostly)
      return result
    } catch (error) {
      throw meter.left < 0 ? new Error(tooCostly, { cause: error }) : error
    } finally {
      budget.left -= most - meter.left
    }
  }
}

function orInvalid<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw invalid(error)
  }
}

function invalid(error: unknown): InvalidExpression {
  const { node, range } = (error ?? {}) as { node?: { pos?: number }; range?: { start?: number } }
  return new InvalidExpression(summaryOf(error), { cause: error, at: range?.start ?? node?.pos })
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
