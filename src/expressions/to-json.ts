import { Optional } from '@marcbachmann/cel-js'
import type { Meter } from '../json-schema/meter.ts'
import type { Json } from '../lib/json.ts'

/** The result of an expression as JSON. Undefined for an empty optional. Throws for what JSON cannot represent. */
export function toJson(value: unknown, budget: Meter): Json | undefined {
  budget.take(1)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return finite(value)
  if (typeof value === 'bigint') return safe(value)
  if (value instanceof Optional) return value.hasValue() ? toJson(value.value(), budget) : undefined
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map((item) => toJson(item, budget) ?? null)
  if (value instanceof Map) return fieldsOf([...value], budget)
  if (typeof value === 'object' && value !== null && isPlainObject(value))
    return fieldsOf(Object.entries(value), budget)
  throw new Error(`it returned a ${nameOf(value)}, which is not JSON: convert it with string()`)
}

const isPlainObject = (value: object) => [Object.prototype, null].includes(Object.getPrototypeOf(value))

const nameOf = (value: unknown) => (value as object | undefined)?.constructor?.name ?? typeof value

const fieldsOf = (entries: readonly (readonly [unknown, unknown])[], budget: Meter): Json =>
  Object.fromEntries(
    entries.flatMap(([name, inner]) => {
      const field = toJson(inner, budget)
      return field === undefined ? [] : [[String(name), field] as const]
    }),
  )

function finite(value: number): number {
  if (Number.isFinite(value)) return value
  throw new Error('it returned a number that JSON cannot represent')
}

function safe(value: bigint): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new Error(`it returned the integer ${value}, which is too large for JSON: convert it with string()`)
}
