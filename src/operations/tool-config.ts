import type { z } from 'zod'
import type { Fault } from '../model/errors.ts'
import { faultsOf } from '../model/faults.ts'
import { orJsonText } from '../model/tool.ts'
import { hintsWhenMissing } from '../tools/parameters.ts'
import type { ToolType } from '../tools/tool-type.ts'
import type { ToolTypes } from '../tools/tool-types.ts'

/**
 * A tool's config is stored in its own column. In the API its fields are top-level fields of the tool, next to those of
 * all other types, which are null.
 */

/** Fields that callers can send. `readConfig` checks which of them a type accepts. */
export const sentFields = ({ fields }: ToolTypes): Record<string, z.ZodType> =>
  Object.fromEntries([...fields].map(([name, schema]) => [name, sent(schema)]))

function sent(schema: z.ZodType): z.ZodType {
  const bare = withoutDefault(schema)
  const field = (structured.has(defOf(bare).type) ? orJsonText(bare) : bare).nullable().optional()
  return schema.description === undefined ? field : field.describe(schema.description)
}

/** Types that are also accepted as JSON text, because the command line can only send text. */
const structured = new Set(['object', 'array', 'record', 'tuple'])

const defOf = (schema: z.ZodType) => schema.def as unknown as { readonly type: string; readonly innerType?: z.ZodType }

/** Only the tool type applies defaults: applied here, they would look like values from the caller. */
function withoutDefault(schema: z.ZodType): z.ZodType {
  const { type, innerType } = defOf(schema)
  return ['default', 'prefault', 'optional'].includes(type) && innerType ? withoutDefault(innerType) : schema
}

export const shownFields = ({ fields }: ToolTypes): Record<string, z.ZodType> =>
  Object.fromEntries([...fields].map(([name, schema]) => [name, withoutDefault(schema).nullable()]))

export const presentConfig = ({ fields }: ToolTypes, config: object): Record<string, unknown> => ({
  ...Object.fromEntries([...fields.keys()].map((name) => [name, null])),
  ...config,
})

/** Parses the config that a caller sent for a tool type, or reports what is wrong with it. */
export function readConfig(
  { fields }: ToolTypes,
  { type, config }: ToolType,
  given: Readonly<Record<string, unknown>>,
): { readonly config: object | undefined; readonly faults: readonly Fault[] } {
  const own = Object.fromEntries(
    Object.keys(config.shape).flatMap((name) => (given[name] == null ? [] : [[name, given[name]]])),
  )
  const faults = [...fields].flatMap(([name, schema]): Fault[] => {
    if (!Object.hasOwn(config.shape, name)) {
      return given[name] == null ? [] : [{ path: name, message: `is not used by ${type} tools: leave it out` }]
    }
    if (Object.hasOwn(own, name) || schema.safeParse(undefined).success) return []
    const { hint } = hintsWhenMissing.get(schema) ?? {}
    return [{ path: name, message: `is missing: ${type} tools need it${hint ? `; ${hint}` : ''}` }]
  })
  if (faults.some(({ path }) => Object.hasOwn(config.shape, path))) return { config: undefined, faults }
  const result = config.safeParse(own)
  if (result.success) return { config: result.data, faults }
  return { config: undefined, faults: [...faults, ...faultsOf(result.error)] }
}
