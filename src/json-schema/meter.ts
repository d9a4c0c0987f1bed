import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt } from 'ajv'
import { canonical } from '../lib/canonical.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'

/** A check exceeded its work limit. */
export class TooMuchWork extends Error {}

/** A budget of work. `take` throws `TooMuchWork` once it is used up. */
export class Meter {
  left: number

  constructor(left = Number.POSITIVE_INFINITY) {
    this.left = left
  }

  readonly take = (work: number): void => {
    this.left -= work
    if (this.left < 0) throw new TooMuchWork('too much work')
  }
}

/**
 * Meters every keyword whose work depends on the input, or that refers to another part of the schema. All other keywords
 * run once for each place in the schema, whose size is limited.
 */
export function metered(ajv: Ajv, meter: Meter): Ajv {
  replaceUniqueItems(ajv, meter)
  for (const [keyword, price] of Object.entries(prices)) {
    const rule = ajv.RULES.all[keyword]
    if (typeof rule !== 'object') continue
    const definition = rule.definition as CodeKeywordDefinition
    const { code } = definition
    definition.code = (context, type) => {
      const amount = price(context)
      if (amount) context.gen.code(_`${context.gen.scopeValue('func', { ref: meter.take })}(${amount})`)
      return code(context, type)
    }
  }
  return ajv
}

type Price = (context: KeywordCxt) => ReturnType<typeof _> | undefined

const perCharacter: Price = ({ data }) => _`${data}.length`
const perItem: Price = ({ data, schema }) => _`${data}.length * ${sizeOf(schema)}`
const perField: Price = ({ data, schema }) => _`Object.keys(${data}).length * ${sizeOf(schema)}`
const ofTarget: Price = ({ schema, it }) => {
  const { root } = it.schemaEnv
  return _`${20 + sizeOf(targetOf(schema, root.schema as JsonObject))}`
}

const prices: Record<string, Price> = {
  minLength: perCharacter,
  maxLength: perCharacter,
  format: ({ data }) => _`(typeof ${data} === "string" ? ${data}.length : 1)`,
  items: perItem,
  additionalItems: perItem,
  contains: perItem,
  unevaluatedItems: perItem,
  minProperties: perField,
  maxProperties: perField,
  // With `false`, each field is either listed in the schema or a fault, and the number of both is limited.
  additionalProperties: (context) => (context.schema === false ? undefined : perField(context)),
  unevaluatedProperties: perField,
  patternProperties: perField,
  propertyNames: perField,
  $ref: ofTarget,
  $dynamicRef: ofTarget,
  $recursiveRef: ofTarget,
}

/** The number of values in a piece of JSON, including itself. */
function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, inner) => sum + sizeOf(inner), 1)
  return isObject(value) ? Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner), 1) : 1
}

/** The target of a reference; the whole schema if it is not a local JSON pointer. */
function targetOf(reference: unknown, root: JsonObject): unknown {
  const [, pointer] = /^#\/(.*)$/.exec(String(reference)) ?? []
  if (pointer === undefined) return root
  const names = pointer.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const target = names.reduce<unknown>((at, name) => (at as JsonObject | undefined)?.[name], root)
  return target ?? root
}

/** Ajv's own `uniqueItems` compares every item with every other one. */
function replaceUniqueItems(ajv: Ajv, meter: Meter): void {
  const validate = (wanted: boolean, items: Json[]): boolean => {
    if (!wanted) return true
    const seen = new Map<string, number>()
    for (const [index, item] of items.entries()) {
      const text = canonical(item)
      meter.take(text.length)
      const same = seen.get(text)
      if (same !== undefined) {
        Object.assign(validate, { errors: [duplicate(same, index)] })
        return false
      }
      seen.set(text, index)
    }
    return true
  }
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', errors: 'full', validate })
}

const duplicate = (i: number, j: number) => ({
  keyword: 'uniqueItems',
  params: { i, j },
  message: `must NOT have duplicate items (items ## ${i} and ${j} are identical)`,
})
