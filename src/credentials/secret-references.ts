import { isObject, type Json } from '../lib/json.ts'

const reference = /\$\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g
const url = /^[a-z][a-z0-9+.-]*:\/\//i

/** The names in all `${{ secrets.NAME }}` of a config. */
export function referencedSecrets(value: unknown): Set<string> {
  const names = new Set<string>()
  walk(value as Json, (text) => {
    if (text.includes('${{')) for (const [, name = ''] of text.matchAll(reference)) names.add(name)
    return text
  })
  return names
}

/** Replaces each `${{ secrets.NAME }}`. In URLs, values are percent-encoded. Unknown names stay as they are. */
export const withSecrets = <T>(value: T, secrets: ReadonlyMap<string, string>): T =>
  walk(value as Json, (text) => {
    if (!text.includes('${{')) return text
    const encode = url.test(text) ? encodeURIComponent : (secret: string) => secret
    return text.replace(reference, (whole, name: string) => {
      const secret = secrets.get(name)
      return secret === undefined ? whole : encode(secret)
    })
  }) as T

function walk(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => walk(item, change))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner as Json, change)]))
}
