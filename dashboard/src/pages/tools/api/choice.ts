import type { ApiDescription, ApiOperation } from '../../../api.ts'

/** The filters for the chosen operations: whole tags where possible. Undefined for all of them. */
export function includeOf(
  operations: readonly ApiOperation[],
  chosen: ReadonlySet<string>,
): ({ tag: string } | { operation: string })[] | undefined {
  if (operations.every(({ name }) => chosen.has(name))) return undefined
  const whole = [...byTag(operations)].filter(
    ([tag, those]) => tag !== '' && those.every(({ name }) => chosen.has(name)),
  )
  const tags = new Set(whole.map(([tag]) => tag))
  const rest = operations.filter(({ name, tags: own }) => chosen.has(name) && !own.some((tag) => tags.has(tag)))
  return [...[...tags].map((tag) => ({ tag })), ...rest.map(({ name }) => ({ operation: name }))]
}

/** Operations without a tag are under an empty one. */
export function byTag(operations: readonly ApiOperation[]): Map<string, ApiOperation[]> {
  const groups = new Map<string, ApiOperation[]>()
  for (const one of operations) {
    for (const tag of one.tags.length > 0 ? one.tags : ['']) groups.set(tag, [...(groups.get(tag) ?? []), one])
  }
  return groups
}

/** The title of the API as a valid name. */
export function nameFor({ title, server_url: server }: ApiDescription): string {
  const host = server === null ? '' : (new URL(server).hostname.replace(/^(www|api)\./, '').split('.')[0] ?? '')
  const name = (title || host)
    .toLowerCase()
    .replaceAll(/\b(rest|open)?\s*api\b|\bv\d+\b|[^a-z0-9]+/g, '-')
    .replaceAll(/-{2,}/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  return name.slice(0, 40) || 'api'
}
