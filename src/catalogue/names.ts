import { createHash } from 'node:crypto'
import type { Action } from '../model/tool.ts'

/** The maximum length of tool names that every model provider accepts. */
const longest = 64

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8)

/** Converts a name to one that is valid everywhere. Long names are truncated and get a hash of the full name. */
export function safeName(name: string): string {
  const safe = name.replaceAll(/[^A-Za-z0-9_-]/g, '_')
  return safe.length <= longest ? safe : `${safe.slice(0, longest - 9)}_${hashOf(name)}`
}

interface Nameable {
  readonly action: Action
  readonly many: boolean
  /** Distinguishes actions with the same id. */
  readonly toolId?: string
}

/**
 * Unique names for a model: the tool's name for tools with a single action, `{app}_{name}` if tools of several apps have
 * that name, and `{tool}_{action}` for tools with many actions. On a conflict, the action whose id sorts first keeps the
 * name and the others get a hash of their id, so the same set always gets the same names.
 */
export function agentNames(actions: readonly Nameable[]): Map<string, Action> {
  const bare = Map.groupBy(
    actions.filter(({ many }) => !many),
    ({ action }) => action.name,
  )
  const nameOf = ({ action, many }: Nameable): string => {
    if (many) return safeName(`${action.namespace}_${action.name}`)
    return safeName((bare.get(action.name)?.length ?? 0) > 1 ? `${action.app}_${action.name}` : action.name)
  }
  const keyed = actions.map((one) => ({ one, key: `${one.action.id} ${one.toolId ?? ''}` }))
  const names = new Map<string, Action>()
  for (const { one, key } of keyed.sort((a, b) => (a.key < b.key ? -1 : 1))) {
    const name = nameOf(one)
    let own = name
    for (let count = 0; names.has(own); count++) {
      const hashed = count === 0 ? one.action.id : `${key} ${count}`
      own = `${name.slice(0, longest - 9)}_${hashOf(hashed)}`
    }
    names.set(own, one.action)
  }
  return names
}

/** Looks up the exact name, then treats `_` and `-` as equal. Several matches mean the name is ambiguous. */
export function findByName<T>(names: ReadonlyMap<string, T>, name: string): T[] {
  const exact = names.get(name)
  if (exact !== undefined) return [exact]
  const plain = name.replaceAll('-', '_')
  return [...names].filter(([known]) => known.replaceAll('-', '_') === plain).map(([, value]) => value)
}

const slugOf = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')

/** The generated name of an action on a server, before conflicts are resolved. */
export const generatedName = ({ app, name }: Action, kind: 'action' | 'workflow' = 'action'): string =>
  safeName(`${slugOf(app)}_${slugOf(name)}_${kind}`)

/**
 * Names for the tools of a server: generated, such as `salesforce_create_contact_action`, or the actions' original names.
 * On a conflict, the action whose id sorts first keeps the name and the others are numbered.
 */
export function serverNames<T extends { readonly action: Action; readonly kind: 'action' | 'workflow' }>(
  actions: readonly T[],
  style: 'generated' | 'original',
): Map<string, T> {
  const names = new Map<string, T>()
  /** The last number used for each conflicting name, so that numbering thousands of them is not quadratic. */
  const counts = new Map<string, number>()
  for (const one of [...actions].sort((a, b) => (a.action.id < b.action.id ? -1 : 1))) {
    const wanted = style === 'original' ? safeName(one.action.name) : generatedName(one.action, one.kind)
    let own = wanted
    let count = counts.get(wanted) ?? 1
    while (names.has(own)) own = `${wanted.slice(0, longest - 4)}_${++count}`
    counts.set(wanted, count)
    names.set(own, one)
  }
  return names
}
