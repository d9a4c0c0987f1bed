import { z } from 'zod'
import type { NamedAction, ServerAction } from '../../catalogue/server-catalogue.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { startOf } from './pages.ts'

/** A tool as `tools/list` returns it, with its JSON, serialized once. */
export class ToolListing {
  readonly value: JsonObject
  #text: string | undefined

  constructor(value: JsonObject) {
    this.value = value
  }

  get text(): string {
    this.#text ??= JSON.stringify(this.value)
    return this.#text
  }
}

/** The schema of a built-in tool. */
export const inputSchemaOf = (schema: z.ZodObject): JsonObject => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return rest as JsonObject
}

const known = { whole: new WeakMap<ServerAction, ToolListing>(), cut: new WeakMap<ServerAction, ToolListing>() }

/**
 * An action under its name on the server. If results can be truncated, the output schema is left out, because clients
 * would validate against it.
 */
export function listed([name, action]: NamedAction, results: 'whole' | 'cut' = 'whole'): ToolListing {
  let one = known[results].get(action)
  if (!one) {
    const { outputSchema, ...value } = describe(name, action)
    one = new ToolListing(results === 'cut' || outputSchema === undefined ? value : { ...value, outputSchema })
    known[results].set(action, one)
  }
  return one
}

/** Keeps the definition of an MCP server, but with our name and without preset fields. */
function describe(name: string, { action, prepared }: ServerAction): JsonObject {
  const { definition = {} } = action
  const { properties } = prepared.publicSchema
  return {
    ...definition,
    name,
    description: action.description ?? `${action.name} of ${action.app}`,
    inputSchema: {
      type: 'object',
      ...prepared.publicSchema,
      ...(isObject(properties) && { properties: spelledOut(properties) }),
    },
  }
}

/** Schemas may be `true` or `false`, which older clients do not support. */
const spelledOut = (properties: object): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      schema === true ? {} : schema === false ? { not: {} } : schema,
    ]),
  )

const pageSize = 1000
/** How long a client on the 2026 protocol may cache a list. Subscribers are notified of changes. */
const listTtlMs = 60_000

export interface ListPage {
  readonly tools: readonly ToolListing[]
  readonly rest: { readonly nextCursor?: string; readonly ttlMs: number; readonly cacheScope: 'private' }
}

/** One page. Only its items are described. */
export function pageOf<T>(all: readonly T[], describe: (one: T) => ToolListing, cursor: string | undefined): ListPage {
  const start = startOf(cursor, all.length)
  const end = start + pageSize
  return {
    tools: all.slice(start, end).map(describe),
    rest: { ...(end < all.length && { nextCursor: String(end) }), ttlMs: listTtlMs, cacheScope: 'private' },
  }
}
