import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { Parameter } from './operation.ts'

export type Pair = readonly [name: string, value: string]

/** A value within a list or an object, as text. */
export const plain = (value: Json): string => {
  if (typeof value === 'string') return value.toWellFormed()
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)
}

/** Percent-encodes everything but unreserved characters, as RFC 6570 does. */
export const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

/** Keeps reserved characters, except those that would end the value. */
const encodeLoosely = (text: string): string =>
  encodeURI(text).replaceAll('#', '%23').replaceAll('&', '%26').replaceAll('+', '%2B')

const present = (object: JsonObject): [string, Json][] =>
  Object.entries(object).filter(([, value]) => value !== null && value !== undefined) as [string, Json][]

/** `R,100,G,200`, or `R=100,G=200` if exploded. */
const flat = (value: Json, explode: boolean, encoded: (text: string) => string): string[] => {
  if (Array.isArray(value)) return value.map((one) => encoded(plain(one)))
  if (!isObject(value)) return [encoded(plain(value))]
  return present(value).flatMap(([key, inner]) =>
    explode ? [`${encoded(key)}=${encoded(plain(inner))}`] : [encoded(key), encoded(plain(inner))],
  )
}

/** A parameter in the path, encoded. */
export function inPath({ name, style, explode, json }: Parameter, value: Json): string {
  if (json) return encode(JSON.stringify(value))
  const parts = flat(value, explode, encode)
  if (style === 'label') return `.${parts.join(explode ? '.' : ',')}`
  if (style !== 'matrix') return parts.join(',')
  if (!explode || typeof value !== 'object') return `;${encode(name)}=${parts.join(',')}`
  return parts.map((part) => (Array.isArray(value) ? `;${encode(name)}=${part}` : `;${part}`)).join('')
}

const delimiters: Readonly<Record<string, string>> = { spaceDelimited: '%20', pipeDelimited: '%7C' }

/** The pairs of a parameter in the query, encoded. */
export function inQuery(parameter: Parameter, value: Json): Pair[] {
  const { name, style, explode, json } = parameter
  const encoded = parameter.allowReserved ? encodeLoosely : encode
  const key = encode(name)
  if (json) return [[key, encoded(JSON.stringify(value))]]
  if (typeof value !== 'object' || value === null) return [[key, encoded(plain(value))]]
  if (style === 'deepObject') return deep(key, value, encoded)
  const parts = flat(value, explode, encoded)
  if (!explode) return parts.length === 0 ? [] : [[key, parts.join(delimiters[style] ?? ',')]]
  if (Array.isArray(value)) return parts.map((part): Pair => [key, part])
  return present(value).map(([inner, one]): Pair => [encode(inner), encoded(plain(one))])
}

/** `filter[owner][name]=x`, and `filter[ids][]=1` for lists. Lists of objects have an index. */
export function deep(key: string, value: Json, encoded: (text: string) => string = encode): Pair[] {
  if (Array.isArray(value)) {
    return value.flatMap((one, index) => deep(`${key}[${isObject(one) ? index : ''}]`, one, encoded))
  }
  if (isObject(value)) return present(value).flatMap(([name, inner]) => deep(`${key}[${encode(name)}]`, inner, encoded))
  return [[key, encoded(plain(value))]]
}

/** A parameter in a header or cookie. Only text that a header can carry. */
export const inHeader = ({ explode, json }: Parameter, value: Json): string =>
  (json ? JSON.stringify(value) : flat(value, explode, (text) => text).join(',')).replaceAll(/[^\t\x20-\x7e]/g, encode)
