import { isObject, type Json, type JsonObject } from '../../lib/json.ts'

/** The field of a bundled document that holds the documents it refers to. */
export const bundleField = 'x-documents'

/** The URLs of the documents that one refers to, without fragments. */
export function referencedUrls(document: Json, url: string): string[] {
  const urls = new Set<string>()
  for (const reference of referencesIn(document)) {
    const target = targetOf(reference, url)
    if (target && target.url !== withoutFragment(url)) urls.add(target.url)
  }
  return [...urls]
}

/** Puts referenced documents into the document, so that all references are local. */
export function bundled(root: JsonObject, url: string, others: ReadonlyMap<string, Json>): JsonObject {
  const keys = keysFor(others)
  const inner = [...others].map(([at, value]): [string, Json] => [keys.get(at) ?? '', relocated(value, at, url, keys)])
  return { ...(relocated(root, url, url, keys) as JsonObject), [bundleField]: Object.fromEntries(inner) }
}

const withoutFragment = (url: string): string => url.split('#')[0] ?? ''

function* referencesIn(value: Json): Generator<string> {
  if (Array.isArray(value)) for (const one of value) yield* referencesIn(one)
  else if (isObject(value)) {
    if (typeof value.$ref === 'string') yield value.$ref
    for (const one of Object.values(value)) yield* referencesIn(one as Json)
  }
}

function targetOf(reference: string, base: string): { readonly url: string; readonly pointer: string } | undefined {
  const parsed = URL.parse(reference, base)
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return undefined
  const pointer = parsed.hash.slice(1)
  parsed.hash = ''
  return { url: parsed.href, pointer }
}

/** Readable, because definitions are named after them: `schemas/pet.yaml` becomes `pet`. */
function keysFor(others: ReadonlyMap<string, Json>): Map<string, string> {
  const keys = new Map<string, string>()
  const taken = new Set<string>()
  for (const url of others.keys()) {
    const file = new URL(url).pathname.split('/').at(-1) ?? ''
    const name = file.replace(/\.(json|ya?ml)$/i, '').replaceAll(/[^A-Za-z0-9_-]+/g, '_') || 'document'
    let key = name
    for (let count = 2; taken.has(key); count++) key = `${name}_${count}`
    taken.add(key)
    keys.set(url, key)
  }
  return keys
}

/** A copy with local references. `at` is the URL of the value, `root` that of the whole document. */
function relocated(value: Json, at: string, root: string, keys: ReadonlyMap<string, string>): Json {
  if (Array.isArray(value)) return value.map((one) => relocated(one, at, root, keys))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      name === '$ref' && typeof one === 'string' ? local(one, at, root, keys) : relocated(one as Json, at, root, keys),
    ]),
  )
}

function local(reference: string, at: string, root: string, keys: ReadonlyMap<string, string>): string {
  const target = targetOf(reference, at)
  if (!target) return reference
  if (target.url === withoutFragment(root)) return `#${target.pointer}`
  const key = keys.get(target.url)
  return key === undefined ? reference : `#/${bundleField}/${key}${target.pointer}`
}
