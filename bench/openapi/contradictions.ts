import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'
import type { Fault, Judge } from './judge.ts'

/**
 * A schema of the document that no value can satisfy: where a fault is, or anywhere that a request must have a value. Undefined
 * if none can be proven.
 */
export function contradiction(judge: Judge, faults: readonly Fault[], whole?: Json): string | undefined {
  const schemas = [...faults.map(({ parentSchema }) => parentSchema), ...(isObject(whole) ? [whole] : [])]
  const found = schemas.flatMap((schema) => (schema ? (faultWithin(judge, schema, []) ?? []) : []))
  if (isObject(whole) && faults.some((fault) => isForbidden(judge, fault, whole)))
    found.push('a part does not allow a field of another')
  return found[0] === undefined ? undefined : `the document contradicts itself: ${found[0]}`
}

/** The document has an example for a value that its own schema refuses, and no other value was found. */
export function badExample(judge: Judge, faults: readonly Fault[]): string | undefined {
  const isBad = faults.some(({ parentSchema }) => {
    const examples = [parentSchema?.example, ...listOf(parentSchema?.examples)].filter((one) => one !== undefined)
    return parentSchema !== undefined && examples.some((one) => !judge.compile(parentSchema)(one))
  })
  return isBad ? 'the document contradicts itself: a schema refuses its own example' : undefined
}

/** All parts apply, so a field that one describes is not allowed if another has no fields beside its own. */
function isForbidden(judge: Judge, { keyword, instancePath }: Fault, whole: JsonObject): boolean {
  if (keyword !== 'additionalProperties') return false
  let parts = partsOf(judge, whole, 0)
  for (const name of instancePath.split('/').slice(2)) {
    const next = parts.flatMap(({ properties, items }) => {
      const own = isObject(properties) ? properties[name] : undefined
      return [own, /^\d+$/.test(name) ? items : undefined].filter(isObject)
    })
    parts = next.flatMap((one) => partsOf(judge, one, 0))
  }
  const fieldsOf = ({ properties }: JsonObject) => (isObject(properties) ? properties : {})
  const alternatives = parts.flatMap(({ anyOf, oneOf }) => [...listOf(anyOf), ...listOf(oneOf)].filter(isObject))
  const described = [...parts, ...alternatives.flatMap((one) => partsOf(judge, one, 0))]
  const names = described.flatMap((part) => Object.keys(fieldsOf(part)))
  const strict = parts.filter((part) => part.additionalProperties === false && part.patternProperties === undefined)
  return names.some((name) => strict.some((part) => !Object.hasOwn(fieldsOf(part), name)))
}

/** Follows parts and required fields only, because everything else can be left out. */
function faultWithin(judge: Judge, given: JsonObject, path: readonly JsonObject[]): string | undefined {
  const schema = judge.resolve(given)
  if (!schema || path.length > 30) return undefined
  if (path.includes(schema)) return 'a field requires itself without end'
  const types = typesOf(judge, schema, 0)
  if (types.size === 0) return 'no type fits'
  if (
    Array.isArray(schema.enum) &&
    schema.enum.length > 0 &&
    schema.enum.every((one) => !fits(one as Json, types, schema))
  )
    return 'no value of an enum fits'
  if (isCrossed(schema)) return 'a minimum above the maximum'
  const next = [...path, schema]
  for (const part of listOf(schema.allOf)) {
    const fault = isObject(part) ? faultWithin(judge, part, next) : undefined
    if (fault !== undefined) return fault
  }
  if (types.size === 1 && types.has('object')) {
    const parts = partsOf(judge, schema, 0)
    for (const name of new Set(parts.flatMap(({ required }) => listOf(required).map(String)))) {
      const fault = fieldFault(judge, parts, name, next)
      if (fault !== undefined) return fault
    }
  }
  const item = Number(schema.minItems ?? 0) > 0 && types.size === 1 && types.has('array') ? schema.items : undefined
  return isObject(item) ? faultWithin(judge, item, next) : undefined
}

/** What all parts of an object say about a required field. */
function fieldFault(judge: Judge, parts: readonly JsonObject[], name: string, path: readonly JsonObject[]) {
  let types = everyType
  for (const { properties, additionalProperties, patternProperties } of parts) {
    const own = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
    if (own === undefined && patternProperties === undefined && additionalProperties === false)
      return 'a required field is not allowed'
    const rule = own ?? (patternProperties === undefined ? additionalProperties : undefined)
    if (!isObject(rule)) continue
    types = types.intersection(typesOf(judge, rule, 0))
    const fault = faultWithin(judge, rule, path)
    if (fault !== undefined) return fault
  }
  return types.size === 0 ? 'no type fits' : undefined
}

/** An object and the parts that apply to it in any case. */
function partsOf(judge: Judge, given: JsonObject, depth: number): JsonObject[] {
  const schema = judge.resolve(given)
  if (!schema || depth > 10) return []
  return [schema, ...listOf(schema.allOf).flatMap((part) => (isObject(part) ? partsOf(judge, part, depth + 1) : []))]
}

const everyType: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])

function typesOf(judge: Judge, given: JsonObject, depth: number): ReadonlySet<string> {
  const schema = judge.resolve(given)
  if (!schema || depth > 10) return everyType
  const own = listOf([schema.type].flat() as Json).flatMap((one) =>
    one === 'number' ? ['number', 'integer'] : [String(one)],
  )
  let types = schema.type === undefined ? everyType : new Set([...own, ...(schema.nullable === true ? ['null'] : [])])
  if (schema.type === undefined && isObject(schema.properties) && Array.isArray(schema.required) && depth === 0)
    types = new Set(['object'])
  for (const part of listOf(schema.allOf))
    if (isObject(part)) types = types.intersection(typesOf(judge, part, depth + 1))
  return types
}

const typeOf = (value: Json): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

const fits = (value: Json, types: ReadonlySet<string>, { pattern, minLength, maxLength }: JsonObject): boolean =>
  types.has(typeOf(value)) &&
  (typeof value !== 'string' ||
    (value.length >= Number(minLength ?? 0) &&
      value.length <= Number(maxLength ?? Number.POSITIVE_INFINITY) &&
      (typeof pattern !== 'string' || new RegExp(pattern).test(value))))

const isCrossed = (schema: JsonObject): boolean =>
  [
    ['minimum', 'maximum'],
    ['minLength', 'maxLength'],
    ['minItems', 'maxItems'],
    ['minProperties', 'maxProperties'],
  ].some(([least = '', most = '']) => Number(schema[least] ?? Number.NaN) > Number(schema[most] ?? Number.NaN))

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
