/** Something of an upstream server, with the app it belongs to and its own name or URI. */
interface Owned {
  readonly app: string
  readonly own: string
}

/**
 * The names under which clients see what several servers offer. A name that only one of them uses stays as it is.
 * Otherwise each gets the name of its app. Within an app, the first one wins.
 */
export function clientNames<One extends Owned>(
  all: readonly One[],
  qualified: (app: string, own: string) => string,
  taken: ReadonlySet<string> = new Set(),
): Map<string, One> {
  const apps = new Map<string, Set<string>>()
  for (const { app, own } of all) apps.set(own, (apps.get(own) ?? new Set()).add(app))
  const isUnique = ({ own }: Owned) => apps.get(own)?.size === 1 && !taken.has(own)
  const names = new Map<string, One>()
  const add = (name: string, one: One) => {
    if (!names.has(name)) names.set(name, one)
  }
  for (const one of all) if (isUnique(one)) add(one.own, one)
  for (const one of all) if (!isUnique(one)) add(qualified(one.app, one.own), one)
  return names
}

export const qualifiedPrompt = (app: string, name: string): string => `${app}_${name}`

export const qualifiedUri = (app: string, uri: string): string => `app:${encodeURIComponent(app)}/${uri}`

/**
 * How many characters of a URI template are literal, if the URI can come from it; otherwise undefined. Expressions match
 * any text: this only finds the server to ask. Linear, because templates come from servers that we do not control.
 */
export function literalMatch(template: string, uri: string): number | undefined {
  const literals = template.split(/\{[^{}]*\}/)
  const [first = '', ...others] = literals
  const last = others.pop()
  if (last === undefined) return template === uri ? uri.length : undefined
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return undefined
  let at = first.length
  for (const literal of others) {
    const found = uri.indexOf(literal, at)
    if (found < 0) return undefined
    at = found + literal.length
  }
  return at <= uri.length - last.length ? literals.join('').length : undefined
}
