import type { Meter } from '../json-schema/meter.ts'
import { isObject } from '../lib/json.ts'

/** A node of the tree that the CEL library evaluates, once it has been checked. */
interface Node {
  readonly op: string
  readonly args: unknown
  readonly meta: { readonly alternate?: Node; readonly macro?: unknown }
  /** Computes the node from its evaluated operands. */
  handle?(...operands: unknown[]): unknown
  evaluate(evaluator: Evaluator, node: Node, context: unknown): unknown
}

/** Evaluates nodes. The library passes it as `this` to every function. */
export interface Evaluator {
  run(node: Node, context: unknown): unknown
  /** Like `run`, but returns the error instead of throwing it. For operators that continue when one side fails. */
  tryEval(node: Node, context: unknown): unknown
}

/** The base cost of a node, before the cost of its operands. */
const perNode = 2
/** Errors are expensive because they include their position in the expression. */
const perError = 500

/**
 * Meters every step of an evaluation. All nodes except the outermost are evaluated through `run` and do their work in
 * `handle`, so both are replaced. Throws if a node has no `handle` although it should: otherwise an update of the library
 * could turn metering off unnoticed.
 */
export function meterEvaluator(evaluator: Evaluator, meter: () => Meter): (outermost: object) => void {
  const priced = new WeakSet<Node>()

  const price = (original: Node): void => {
    const node = original.meta.alternate ?? original
    if (priced.has(node)) return
    priced.add(node)
    const priceOf = prices[node.op]
    // A macro only evaluates its parts, through `run`.
    if (!priceOf || node.meta.macro) return
    const { handle } = node
    if (!handle) throw new Error(`the operator ${node.op} cannot be metered`)
    node.handle = (...operands) => {
      priceOf(operands, node, meter())
      const result = handle.apply(node, operands)
      meter().take(weightOf(result) / 2)
      return result
    }
  }

  if (typeof evaluator?.run !== 'function' || typeof evaluator.tryEval !== 'function') {
    throw new Error('the evaluator of CEL cannot be metered')
  }
  evaluator.run = (node, context) => {
    meter().take(perNode)
    price(node)
    return node.evaluate(evaluator, node, context)
  }
  evaluator.tryEval = (node, context) => {
    try {
      return evaluator.run(node, context)
    } catch (error) {
      meter().take(perError)
      return error
    }
  }
  return (outermost) => price(outermost as Node)
}

type Price = (operands: readonly unknown[], node: Node, meter: Meter) => void

const ofBoth: Price = ([left, right], _, meter) => meter.take((weightOf(left) + weightOf(right)) / 2)

const ofComparison: Price = ([left, right], _, meter) => {
  if (typeof left === 'object' && typeof right === 'object') takeWhole(left, meter)
  else meter.take(Math.min(weightOf(left), weightOf(right)))
}

const ofMembership: Price = ([value, list], _, meter) => {
  if (!Array.isArray(list)) return
  if (typeof value === 'object') takeWhole(list, meter)
  else meter.take(list.length * (1 + weightOf(value) / 4))
}

const ofCall: Price = ([operands], node, meter) => {
  const [name] = node.args as [string]
  const values = operands as readonly unknown[]
  for (const value of values) meter.take(weightOf(value))
  if (name === 'duration') meter.take(durationPrice(String(values[0])))
  // With a time zone, the library formats the date and parses it again.
  if (name.startsWith('get') && values.length > 1) meter.take(2000)
}

/** The library parses durations with a regular expression that is cubic in the length of the text. */
const durationPrice = (text: string) => text.length ** 3 / 4

const prices: Readonly<Record<string, Price>> = {
  '+': ofBoth,
  ...Object.fromEntries(['==', '!=', '<', '<=', '>', '>='].map((op) => [op, ofComparison])),
  in: ofMembership,
  call: ofCall,
  rcall: ofCall,
  comprehension: ([items], _, meter) => meter.take(weightOf(items)),
}

/** The cost of iterating over a value once, not counting nested values. */
function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length / 4
  if (Array.isArray(value)) return value.length
  if (value instanceof Uint8Array) return value.length / 4
  return isObject(value) ? Object.keys(value).length : 0
}

/** Charges the cost of walking a value and everything nested in it, while walking it. */
function takeWhole(value: unknown, meter: Meter): void {
  meter.take(2 + weightOf(value))
  if (Array.isArray(value)) for (const inner of value) takeWhole(inner, meter)
  else if (isObject(value)) for (const inner of Object.values(value)) takeWhole(inner, meter)
}
