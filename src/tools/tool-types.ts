import { z } from 'zod'
import { masked } from '../credentials/tool-secrets.ts'
import { isObject, type Json } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { Tool, ToolFields } from '../model/tool.ts'
import { defineToolType, type ToolType } from './tool-type.ts'

/** The tool types of a platform: the built-in ones and those that an embedding program adds. */
export class ToolTypes {
  readonly all: readonly ToolType[]
  /** The fields of all types, by name. */
  readonly fields: ReadonlyMap<string, z.ZodType>
  readonly #byName = new Map<string, ToolType>()
  readonly #unavailable = new Map<string, ToolType>()

  constructor(all: readonly ToolType[]) {
    this.all = all
    for (const type of all) {
      for (const name of [type.type, ...(type.aliases ?? [])]) {
        if (this.#byName.has(name)) throw new Error(`Two tool types are named "${name}".`)
        this.#byName.set(name, type)
      }
    }
    this.fields = fieldsOf(all)
  }

  /** Every type name and alias that a tool can be registered with. */
  get names(): readonly string[] {
    return [...this.#byName.keys()]
  }

  /** By name or alias. */
  find(name: string): ToolType | undefined {
    return this.#byName.get(name)
  }

  /** The type of a stored tool. If this platform does not have the type, the tool can be read but not called. */
  of({ type: name }: { readonly type: string }): ToolType {
    let type = this.#byName.get(name) ?? this.#unavailable.get(name)
    if (!type) {
      type = unavailable(name)
      this.#unavailable.set(name, type)
    }
    return type
  }
}

function fieldsOf(types: readonly ToolType[]): Map<string, z.ZodType> {
  const fields = new Map<string, { readonly schema: z.ZodType; readonly of: string }>()
  for (const { type, config } of types) {
    for (const [name, schema] of Object.entries(config.shape) as [string, z.ZodType][]) {
      const other = fields.get(name)
      if (Object.hasOwn(Tool.shape, name) || Object.hasOwn(ToolFields, name)) {
        throw new Error(`The tool type "${type}" has a field "${name}", which every tool has. Choose another name.`)
      }
      if (other && other.schema !== schema) {
        throw new Error(`The tool types "${other.of}" and "${type}" have a field "${name}" with different schemas.`)
      }
      fields.set(name, { schema, of: type })
    }
  }
  return new Map([...fields].map(([name, { schema }]) => [name, schema]))
}

/** For tools whose type was removed. Their config is unknown, so all of it is treated as secret. */
const unavailable = (type: string): ToolType =>
  defineToolType({
    type,
    title: type,
    description: 'This platform does not have the type.',
    many: false,
    config: z.object({}),
    secrets: (config) => textsIn(config as Json),
    lifetime: () => 0,
    actions: () => {
      throw new PlatformError('TOOL_TYPE_UNAVAILABLE', { type })
    },
  })

const textsIn = (value: Json): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap((inner) => textsIn(inner)) : []
}

/** The config for callers who cannot change the tool. */
export const maskedConfig = (type: ToolType, config: object): object =>
  type.masked?.(config) ??
  (hide(
    config as Json,
    type.secrets(config).filter((secret) => secret !== ''),
  ) as object)

function hide(value: Json, secrets: readonly string[]): Json {
  if (typeof value === 'string') return secrets.some((secret) => value.includes(secret)) ? masked : value
  if (Array.isArray(value)) return value.map((item) => hide(item, secrets))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hide(inner as Json, secrets)]))
}
