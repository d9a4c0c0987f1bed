import { type ASTNode, Environment, serialize } from '@marcbachmann/cel-js'
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import { type Matcher, matcherOf } from '../tools/pattern.ts'

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

/** Tells of a call whether it fits; throws a plain error, in words, where that cannot be told. */
export type Condition = (facts: Facts) => boolean

/** An expression that is none, or is not about what there is. */
export class ExpressionFault extends Error {}

/** Characters of JSON that are looked at, and values that loops within loops go through: some milliseconds of work. */
const largestInput = 64 * 1024
const mostRounds = 100_000
const deepestLoops = 2

const loops = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
/** Ours, in place of the one that hands a pattern to V8, which may never come to an end. */
const matches = 'matchesInTime'

const known = new Map<string, Matcher>()

function matcher(pattern: string): Matcher {
  let found = known.get(pattern)
  if (!found) {
    if (known.size >= 500) known.clear()
    found = matcherOf(pattern)
    known.set(pattern, found)
  }
  return found
}

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
  .registerFunction(`string.${matches}(string): bool`, (text: string, pattern: string) => matcher(pattern).test(text))

/** Reads an expression of CEL that says yes or no. Throws `ExpressionFault` for one that could not. */
export function conditionOf(expression: string): Condition {
  const { ast } = orFault(() => environment.parse(expression))
  const depth = deepest(ast)
  if (depth > deepestLoops) throw new ExpressionFault(`loops are nested ${depth} deep; the most is ${deepestLoops}`)
  const parsed = orFault(() => environment.parse(withOwnMatches(expression, ast)))
  const { valid, type, error } = parsed.check()
  if (!valid) throw new ExpressionFault(wordsOf(error))
  if (type !== 'bool' && type !== 'dyn') throw new ExpressionFault(`gives a ${type}, and must say true or false`)
  return (facts) => {
    refuseLarge(facts.input, depth)
    const result: unknown = inWords(() => parsed({ ...facts }))
    if (typeof result !== 'boolean') throw new Error('it says neither true nor false')
    return result
  }
}

function refuseLarge(input: JsonObject, depth: number): void {
  if (JSON.stringify(input).length > largestInput) throw new Error('the input is too large to be judged')
  if (depth > 0 && countOf(input) ** depth > mostRounds) throw new Error('the input has too many values to be judged')
}

const countOf = (value: Json): number => {
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value as JsonObject) : []
  return inner.reduce<number>((count, one) => count + countOf(one), 1)
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

function withOwnMatches(expression: string, ast: ASTNode): string {
  let found = false
  const renamed = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(renamed)
    if (!isObject(node) || !('op' in node)) return node
    if (calledBy(node) !== 'matches') return { ...node, args: renamed(node.args) }
    found = true
    const [, ...rest] = node.args as unknown[]
    for (const pattern of childrenOf(rest[1])) {
      if (isObject(pattern) && typeof pattern.args === 'string' && pattern.op === 'value') {
        const { args } = pattern
        orFault(() => matcher(args as string))
      }
    }
    return { ...node, args: [matches, ...(renamed(rest) as unknown[])] }
  }
  const changed = renamed(ast) as ASTNode
  return found ? serialize(changed) : expression
}
