import { createHash } from 'node:crypto'

/** The longest name of a tool that every model provider accepts. */
const longest = 64

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8)

const withHash = (name: string, of: string) => `${name.slice(0, longest - 9)}_${hashOf(of)}`

const clean = (text: string): string =>
  text
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replaceAll(/_{2,}/g, '_')
    .replaceAll(/^[_-]+|[_-]+$/g, '')

interface Nameable {
  readonly key: string
  readonly method: string
  readonly path: string
  readonly operationId: string | undefined
}

/** The `operationId`, or method and path. */
function wantedName({ operationId, method, path }: Nameable): string {
  const own = clean(operationId ?? '')
  const name = own === '' ? clean(`${method.toLowerCase()}_${path}`) : own
  return name.length <= longest ? name : withHash(name, operationId || `${method} ${path}`)
}

/**
 * Names for the actions of all operations, by key. An operation keeps the name that it had in the last import. Of
 * operations with the same name, the one whose key sorts first keeps it, and the others get a hash of their key.
 */
export function nameOperations(
  operations: readonly Nameable[],
  before: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  const names = new Map<string, string>()
  const taken = new Set<string>()
  for (const { key } of operations) {
    const name = before.get(key)
    if (name === undefined || taken.has(name)) continue
    names.set(key, name)
    taken.add(name)
  }
  for (const one of [...operations].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    if (names.has(one.key)) continue
    const wanted = wantedName(one)
    const name = taken.has(wanted) ? withHash(wanted, one.key) : wanted
    names.set(one.key, name)
    taken.add(name)
  }
  return names
}

/** Property names that every model provider accepts at the top of a schema: `filter[name]` becomes `filter_name`. */
export function propertyName(name: string): string {
  const safe = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').replaceAll(/^[_.-]+|[_.-]+$/g, '')
  const own = /^[A-Za-z0-9_.-]{1,64}$/.test(name) && name !== '__proto__' ? name : safe || `field_${hashOf(name)}`
  return own.length <= longest ? own : withHash(own, name)
}
