import { isObject, type Json, type JsonObject } from '../../lib/json.ts'

/** Schemas above this size, in characters of JSON, are reduced. */
export const largestSchema = 32 * 1024

/** What a step of the reduction leaves of a schema. */
interface Step {
  readonly examples: boolean
  readonly longestDescription: number
  readonly longestEnum: number
  /** Optional properties below this depth accept anything. */
  readonly depth: number
}

const whole: Step = {
  examples: true,
  longestDescription: Number.POSITIVE_INFINITY,
  longestEnum: Number.POSITIVE_INFINITY,
  depth: Number.POSITIVE_INFINITY,
}
const withoutExamples: Step = { ...whole, examples: false }
const withShortTexts: Step = { ...withoutExamples, longestDescription: 200 }
const withShortEnums: Step = { ...withShortTexts, longestEnum: 50 }

/** In this order, until the schema fits. The first one is the whole schema. */
const steps: readonly Step[] = [
  whole,
  withoutExamples,
  withShortTexts,
  withShortEnums,
  ...[4, 3, 2, 1].map((depth) => ({ ...withShortEnums, depth })),
  { ...withShortEnums, longestDescription: 60, depth: 1 },
  { ...withShortEnums, longestDescription: 0, depth: 1 },
  { ...withShortEnums, longestDescription: 60, depth: 0 },
  { ...withShortEnums, longestDescription: 0, depth: 0 },
]

interface Variant {
  readonly schema: JsonObject
  readonly size: number
  readonly references: ReadonlyMap<string, number>
}

const note = 'Any value. The details are omitted.'

/**
 * Builds complete schemas from a root and the definitions that it refers to. Definitions are shared between the schemas of
 * a document, also reduced ones: a reduced definition depends only on the step and on its depth.
 */
export class SchemaBuilder {
  readonly #defs: (name: string) => JsonObject | undefined
  readonly #variants = new Map<string, Variant>()

  constructor(defs: (name: string) => JsonObject | undefined) {
    this.#defs = defs
  }

  /** The first step whose result is small enough, and the size of that result. */
  fit(
    root: JsonObject,
    largest = largestSchema,
  ): { readonly step: number; readonly size: number; readonly whole: number } {
    let wholeSize = 0
    for (const step of steps.keys()) {
      const size = this.#collect(root, step, step === 0 ? Number.POSITIVE_INFINITY : largest).size
      if (step === 0) wholeSize = size
      if (size <= largest) return { step, size, whole: wholeSize }
    }
    const last = steps.length - 1
    return { step: last, size: this.#collect(root, last, Number.POSITIVE_INFINITY).size, whole: wholeSize }
  }

  build(root: JsonObject, step: number): JsonObject {
    const { top, defs } = this.#collect(root, step, Number.POSITIVE_INFINITY)
    if (defs.size === 0) return top
    return { ...top, $defs: Object.fromEntries([...defs].map(([name, { schema }]) => [name, schema])) }
  }

  /** Breadth first, so that a definition is reached at its smallest depth first. Stops above the limit. */
  #collect(root: JsonObject, number: number, limit: number) {
    const step = steps[number] ?? whole
    const top = reduced(root, step, 0)
    const defs = new Map<string, Variant>()
    let size = top.size
    let level: ReadonlyMap<string, number> = top.references
    while (level.size > 0 && size <= limit) {
      const next = new Map<string, number>()
      for (const [name, depth] of [...level].sort((a, b) => a[1] - b[1])) {
        if (defs.has(name)) continue
        const variant = this.#variant(
          name,
          number,
          Math.min(depth, step.depth === Number.POSITIVE_INFINITY ? 0 : step.depth),
        )
        defs.set(name, variant)
        size += variant.size + name.length + 4
        if (size > limit) break
        for (const [other, at] of variant.references) {
          if (!defs.has(other)) next.set(other, Math.min(at, next.get(other) ?? at))
        }
      }
      level = next
    }
    return { top: top.schema, defs, size: defs.size > 0 ? size + 10 : size }
  }

  #variant(name: string, step: number, depth: number): Variant {
    const key = `${step} ${depth} ${name}`
    let variant = this.#variants.get(key)
    if (!variant) {
      variant = reduced(this.#defs(name) ?? {}, steps[step] ?? whole, depth)
      this.#variants.set(key, variant)
    }
    return variant
  }
}

function reduced(root: JsonObject, step: Step, depth: number): Variant {
  const references = new Map<string, number>()
  const schema = step === whole ? root : reduce(root, step, depth)
  collectReferences(schema, step, depth, references)
  return { schema, size: JSON.stringify(schema).length, references }
}

const inDefs = '#/$defs/'

function collectReferences(schema: Json, step: Step, depth: number, references: Map<string, number>): void {
  if (!isObject(schema)) return
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.slice(inDefs.length)
    references.set(name, Math.min(depth, references.get(name) ?? depth))
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties') {
      for (const one of Object.values(value as JsonObject)) collectReferences(one, step, depth + 1, references)
    } else if (inner.has(keyword)) collectReferences(value, step, depth, references)
    else if (lists.has(keyword)) for (const one of value as Json[]) collectReferences(one, step, depth, references)
    else if (keyword === 'patternProperties') {
      for (const one of Object.values(value as JsonObject)) collectReferences(one, step, depth, references)
    }
  }
}

/** Keywords whose value is a schema, and those whose value is a list of schemas. */
const inner = new Set(['items', 'additionalProperties', 'not'])
const lists = new Set(['allOf', 'anyOf', 'prefixItems'])

function reduce(schema: JsonObject, step: Step, depth: number): JsonObject {
  const result: JsonObject = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'examples') {
      if (step.examples) result.examples = value
    } else if (keyword === 'description') {
      const text = shortened(String(value), step.longestDescription)
      if (text !== '') result.description = text
    } else if (keyword === 'enum' && (value as Json[]).length > step.longestEnum) {
      result.description = enumHint(schema, value as Json[], step)
    } else if (keyword === 'properties') {
      result.properties = reducedProperties(schema, step, depth)
    } else if (keyword === 'patternProperties') {
      const entries = Object.entries(value as JsonObject)
      result[keyword] = Object.fromEntries(entries.map(([name, one]) => [name, reduce(one as JsonObject, step, depth)]))
    } else if (inner.has(keyword) && isObject(value)) result[keyword] = reduce(value, step, depth)
    else if (lists.has(keyword)) result[keyword] = (value as JsonObject[]).map((one) => reduce(one, step, depth))
    else if (result[keyword] === undefined) result[keyword] = value
  }
  return result
}

function reducedProperties({ properties, required }: JsonObject, step: Step, depth: number): JsonObject {
  const needed = new Set(Array.isArray(required) ? required : [])
  return Object.fromEntries(
    Object.entries(properties as JsonObject).map(([name, one]) => [
      name,
      depth < step.depth || needed.has(name) || !isLarge(one as JsonObject)
        ? reduce(one as JsonObject, step, depth + 1)
        : step.longestDescription === 0
          ? {}
          : { description: note },
    ]),
  )
}

/** Replacing a plain string or number by a note would save nothing. */
const isLarge = (schema: JsonObject): boolean =>
  ['$ref', 'properties', 'items', 'anyOf', 'allOf', 'additionalProperties', 'description', 'enum'].some(
    (keyword) => schema[keyword] !== undefined,
  )

function enumHint({ description }: JsonObject, values: readonly Json[], step: Step): string {
  const some = values.slice(0, 5).map((value) => JSON.stringify(value))
  const hint = `One of ${values.length} values, such as ${some.join(', ')}`
  const text = typeof description === 'string' ? shortened(description, step.longestDescription) : ''
  return text === '' ? hint : `${text} ${hint}`
}

/** Cut after a word, with an ellipsis. */
export function shortened(text: string, longest: number): string {
  if (text.length <= longest) return text
  if (longest === 0) return ''
  const start = text.slice(0, longest - 1)
  const end = start.search(/\s\S*$/)
  return `${(end > longest / 2 ? start.slice(0, end) : start).trimEnd().toWellFormed()}…`
}
