import { isObject, type JsonObject } from '../../lib/json.ts'

/** One action in an answer of RESOLVE_ACTIONS. */
export interface PlanEntry {
  readonly slug: string
  readonly type: string
  readonly identifier: string
  readonly json_schema: JsonObject
  readonly note?: string
}

export interface PlanItem {
  readonly entry: PlanEntry
  /** The best action for a request, as opposed to an alternative. */
  readonly isBest: boolean
}

/** The budget of a server that does not set its own. */
export const defaultBudget = 2000
/** JSON has about this many characters per token. Counting exactly would take longer than the search. */
const charactersPerToken = 3.5

export const shortNote = 'Shortened to names and types. For the rest: "full_schema": true.'

/**
 * Fits an answer into a budget of tokens. The best action for each request comes with its whole schema, alternatives with
 * the names and types of their fields. If that is too much, alternatives are left out, the least likely first, and then
 * the other schemas are shortened. The best actions are never left out.
 */
export function fitPlan(items: readonly PlanItem[], budget: number): PlanEntry[] {
  const most = budget * charactersPerToken
  const entries = items.map(({ entry, isBest }) => (isBest ? entry : shortened(entry)))
  const sizes = entries.map((entry) => JSON.stringify(entry).length)
  let size = sizes.reduce((sum, one) => sum + one + 1, 2)
  const isLeftOut = new Set<number>()
  for (let at = items.length - 1; at >= 0 && size > most; at--) {
    if (items[at]?.isBest) continue
    size -= (sizes[at] as number) + 1
    isLeftOut.add(at)
  }
  for (let at = items.length - 1; at >= 0 && size > most; at--) {
    if (!items[at]?.isBest) continue
    entries[at] = shortened(entries[at] as PlanEntry)
    size += JSON.stringify(entries[at]).length - (sizes[at] as number)
  }
  return entries.filter((_, at) => !isLeftOut.has(at))
}

function shortened(entry: PlanEntry): PlanEntry {
  const short = { ...entry, json_schema: namesAndTypes(entry.json_schema), note: shortNote }
  return JSON.stringify(short).length < JSON.stringify(entry).length ? short : entry
}

function namesAndTypes({ type, properties, required }: JsonObject): JsonObject {
  return {
    ...(type !== undefined && { type }),
    ...(isObject(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, typeOf(field)])),
    }),
    ...(required !== undefined && { required }),
  }
}

const typeOf = (field: unknown): JsonObject => (isObject(field) && field.type !== undefined ? { type: field.type } : {})
