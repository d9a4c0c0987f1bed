import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { JsonObject } from '../../lib/json.ts'
import { type NamedSchema, namedSchemasOf } from '../../operations/named-schemas.ts'
import type { Operation } from '../../operations/operation.ts'

type Schemas = Record<string, JsonObject>

/** The JSON Schemas of operations. Named schemas are in `components`, and everything else refers to them. */
export interface OperationSchemas {
  readonly components: Schemas
  input(schema: z.ZodType): JsonObject
  output(schema: z.ZodType): JsonObject
}

const prefix = '#/components/schemas/'
export const refTo = (name: string): JsonObject => ({ $ref: prefix + name })

/** The name that a schema refers to, if it is a reference. */
export const nameOf = ({ $ref }: JsonObject): string | undefined =>
  typeof $ref === 'string' && $ref.startsWith(prefix) ? $ref.slice(prefix.length) : undefined

type NamedSchemas = Readonly<Record<string, NamedSchema>>

export function schemasOf(operations: readonly Operation[]): OperationSchemas {
  const names = namedSchemasOf(operations)
  const inputs = print(
    operations.map(({ input }) => input),
    names,
    'input',
  )
  const outputs = print(
    operations.flatMap(({ output, later }) => (later ? [output, later] : [output])),
    names,
    'output',
  )
  const different = differing(inputs.named, outputs.named)
  const rename = (name: string) => (different.has(name) ? `${name}Input` : name)
  const renamed = Object.entries(inputs.named).map(([name, schema]) => [rename(name), mapRefs(schema, rename)])
  return {
    components: { ...Object.fromEntries(renamed), ...outputs.named },
    input: (schema) => mapRefs(inputs.of(schema), rename),
    output: outputs.of,
  }
}

interface Printed {
  /** The named schemas that are used. */
  readonly named: Schemas
  of(schema: z.ZodType): JsonObject
}

function print(schemas: readonly z.ZodType[], names: NamedSchemas, io: 'input' | 'output'): Printed {
  const registry = z.registry<{ id: string }>()
  for (const [id, { schema }] of Object.entries(names)) registry.add(schema, { id })
  const unnamed = new Set<string>()
  for (const schema of schemas) {
    if (registry.has(schema)) continue
    const id = pageName(schema, registry) ?? `unnamed ${unnamed.size}`
    if (id.startsWith('unnamed')) unnamed.add(id)
    registry.add(schema, { id })
  }
  const printed = z.toJSONSchema(registry, {
    io,
    uri: (id) => prefix + id,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => dropNoise(jsonSchema),
  }).schemas as unknown as Schemas
  const bodies = new Map(Object.entries(printed).map(([id, { $schema, $id, ...body }]) => [id, body]))
  const of = (schema: z.ZodType): JsonObject => {
    const { id } = registry.get(schema) as { id: string }
    return unnamed.has(id) ? (bodies.get(id) as JsonObject) : refTo(id)
  }
  return { named: collect(schemas.map(of), bodies, names), of }
}

/** Drops the patterns and limits that Zod adds to every timestamp and integer. */
function dropNoise(schema: { format?: string; pattern?: string; minimum?: number; maximum?: number }): void {
  if (schema.format === 'date-time') delete schema.pattern
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
}

/** `ToolPage` for a page of tools. */
function pageName(schema: z.ZodType, registry: { get(schema: z.ZodType): { id: string } | undefined }) {
  if (!(schema instanceof z.ZodObject)) return undefined
  const { data, total, limit, offset } = schema.shape as Record<string, z.ZodType | undefined>
  if (!total || !limit || !offset || !(data instanceof z.ZodArray)) return undefined
  const item = registry.get(data.element as z.ZodType)
  return item && `${item.id}Page`
}

/** All named schemas that are referenced, directly or indirectly. */
function collect(
  schemas: readonly JsonObject[],
  bodies: ReadonlyMap<string, JsonObject>,
  names: NamedSchemas,
): Schemas {
  const found: Schemas = {}
  const visit = (schema: JsonObject): void => {
    for (const name of refsIn(schema)) {
      if (name in found) continue
      const body = bodies.get(name) as JsonObject
      const description = names[name]?.description
      found[name] = { ...(description !== undefined && { description }), ...body }
      visit(body)
    }
  }
  for (const schema of schemas) visit(schema)
  return found
}

/** Named schemas whose input differs from the output: by defaults, conversions, or something they refer to. */
function differing(inputs: Schemas, outputs: Schemas): ReadonlySet<string> {
  const both = Object.keys(inputs).filter((name) => name in outputs)
  const different = new Set(both.filter((name) => !isDeepStrictEqual(inputs[name], outputs[name])))
  for (let size = -1; size !== different.size; ) {
    size = different.size
    for (const name of both) {
      if (refsIn(inputs[name] as JsonObject).some((used) => different.has(used))) different.add(name)
    }
  }
  return different
}

function refsIn(schema: JsonObject): string[] {
  const names: string[] = []
  mapRefs(schema, (name) => {
    names.push(name)
    return name
  })
  return names
}

const mapRefs = (schema: JsonObject, rename: (name: string) => string): JsonObject =>
  JSON.parse(JSON.stringify(schema), (key, value) =>
    key === '$ref' ? prefix + rename((value as string).slice(prefix.length)) : value,
  )
