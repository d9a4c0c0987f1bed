import { Ajv2020 } from 'ajv/dist/2020.js'
import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'

const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false })

/**
 * What model providers refuse. OpenAI: names and descriptions that are too long, a schema that is no object, arrays without
 * items. Anthropic: unions at the top, property names with other characters. Google: enums with empty texts, null or numbers,
 * arrays without items, required fields that are not described. Definitions are shared between schemas, so each is checked once. */
export class ProviderRules {
  readonly #checked = new WeakMap<object, string | undefined>()

  /** The first rule that a tool breaks. */
  faultOf({
    name,
    description,
    schema,
  }: {
    name: string
    description: string | null
    schema: JsonObject
  }): string | undefined {
    if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(`a${name}`.slice(0, 64)) || name.length > 64) return `name ${name}`
    if (!/^[A-Za-z0-9_-]+$/.test(name)) return `name ${name}`
    if ((description ?? '').length > 1024) return 'description over 1024 characters (OpenAI)'
    if (schema.type !== 'object' || !isObject(schema.properties)) return 'no object at the top'
    const union = ['oneOf', 'anyOf', 'allOf', 'not', 'enum'].find((keyword) => schema[keyword] !== undefined)
    if (union) return `${union} at the top (OpenAI, Anthropic)`
    const property = Object.keys(schema.properties).find((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key))
    if (property !== undefined) return `property ${property} (Anthropic)`
    const { $defs = {}, ...root } = schema
    const defs = $defs as JsonObject
    return (
      [root, ...Object.values(defs)]
        .map((one) => this.#faultWithin(one as JsonObject))
        .find((one) => one !== undefined) ?? unresolved(root, defs)
    )
  }

  #faultWithin(schema: JsonObject): string | undefined {
    if (!this.#checked.has(schema)) {
      const valid = ajv.validateSchema(schema) as boolean
      const fault = valid ? nodeFault(schema) : `not JSON Schema 2020-12: ${ajv.errorsText(ajv.errors)}`
      this.#checked.set(schema, fault)
    }
    return this.#checked.get(schema)
  }
}

function* nodes(schema: Json): Generator<JsonObject> {
  if (!isObject(schema)) return
  yield schema
  for (const keyword of ['items', 'additionalProperties', 'not']) yield* nodes(schema[keyword] as Json)
  for (const keyword of ['allOf', 'anyOf', 'oneOf', 'prefixItems']) {
    for (const one of (schema[keyword] ?? []) as Json[]) yield* nodes(one)
  }
  for (const keyword of ['properties', 'patternProperties']) {
    for (const one of Object.values((schema[keyword] ?? {}) as JsonObject)) yield* nodes(one)
  }
}

function nodeFault(schema: JsonObject): string | undefined {
  for (const node of nodes(schema)) {
    if ([node.type].flat().includes('array') && node.items === undefined) return 'array without items (OpenAI, Google)'
    if (
      Array.isArray(node.enum) &&
      (node.enum.length === 0 || node.enum.some((one) => typeof one !== 'string' || one === ''))
    )
      return 'an enum with anything but texts, or with an empty one (Google)'
    const properties = isObject(node.properties) ? node.properties : {}
    const missing = ((node.required ?? []) as string[]).find((name) => !Object.hasOwn(properties, name))
    if (missing !== undefined) return `required ${missing} is no property (Google)`
  }
  return undefined
}

/** Every reference has a definition. */
function unresolved(root: JsonObject, defs: JsonObject): string | undefined {
  for (const schema of [root, ...Object.values(defs)]) {
    for (const { $ref } of nodes(schema)) {
      if (typeof $ref === 'string' && !Object.hasOwn(defs, $ref.slice('#/$defs/'.length)))
        return `${$ref} has no definition`
    }
  }
  return undefined
}
