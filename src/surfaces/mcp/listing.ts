import { z } from 'zod'
import type { Named, Shelved } from '../../catalogue/shelf.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { startOf } from './pages.ts'

/** A tool as `tools/list` shows it: the value, and its text, printed once for all who ask. */
export class Listed {
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

/** The schema of a tool of our own. */
export const inputSchemaOf = (schema: z.ZodObject): JsonObject => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return rest as JsonObject
}

const known = { whole: new WeakMap<Shelved, Listed>(), cut: new WeakMap<Shelved, Listed>() }

/**
 * An action under the name that its server gives it. Where results may be cut it promises no shape of its output, which
 * clients would insist on.
 */
export function listed([name, shelved]: Named, results: 'whole' | 'cut' = 'whole'): Listed {
  let one = known[results].get(shelved)
  if (!one) {
    const { outputSchema, ...value } = describe(name, shelved)
    one = new Listed(results === 'cut' || outputSchema === undefined ? value : { ...value, outputSchema })
    known[results].set(shelved, one)
  }
  return one
}

/** What an MCP server says of its tool stays; the name is ours, and preset fields are gone. */
function describe(name: string, { action, offer }: Shelved): JsonObject {
  const { definition = {} } = action
  const { properties } = offer.shown
  return {
    ...definition,
    name,
    description: action.description ?? `${action.name} of ${action.app}`,
    inputSchema: {
      type: 'object',
      ...offer.shown,
      ...(isObject(properties) && { properties: spelledOut(properties) }),
    },
  }
}

/** A schema may be `true` or `false`, which older clients do not know. */
const spelledOut = (properties: object): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      schema === true ? {} : schema === false ? { not: {} } : schema,
    ]),
  )

const pageSize = 1000
/** How long a client of the new era may keep a list without asking; changes are told to those who listen. */
const listTtlMs = 60_000

export interface ListPage {
  readonly tools: readonly Listed[]
  readonly rest: { readonly nextCursor?: string; readonly ttlMs: number; readonly cacheScope: 'private' }
}

/** A page of things to list, of which only those on it are described. */
export function pageOf<T>(all: readonly T[], describe: (one: T) => Listed, cursor: string | undefined): ListPage {
  const start = startOf(cursor, all.length)
  const end = start + pageSize
  return {
    tools: all.slice(start, end).map(describe),
    rest: { ...(end < all.length && { nextCursor: String(end) }), ttlMs: listTtlMs, cacheScope: 'private' },
  }
}
