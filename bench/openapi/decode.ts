import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'
import type { ApiRequest } from '../../src/tools/openapi/request.ts'

/**
 * Reads the parameters of a request back by the rules of OpenAPI, from what was sent and from the document alone. Numbers
 * and booleans stay texts. Undefined if a parameter is written in a way that cannot be read back.
 */
export function decode(
  path: string,
  parameters: readonly JsonObject[],
  { shapeOf, namesOf }: Schemas,
  request: Pick<ApiRequest, 'url' | 'headers'>,
  greedy: boolean,
): Decoded {
  const query = [...pairsOf(request.url.search.slice(1))]
  const used = new Set<string>()
  const inPath = matchPath(path, request.url, greedy)
  const cookies = new Map(
    (request.headers.cookie ?? '').split('; ').flatMap((one) => {
      const at = one.indexOf('=')
      return at < 0 ? [] : [[one.slice(0, at), text(one.slice(at + 1))] as const]
    }),
  )
  const values: Record<string, JsonObject> = { path: {}, query: {}, header: {}, cookie: {} }
  // Parameters whose fields are spread over the query get what no other parameter is named.
  const ordered = [...parameters].sort((a, b) => Number(isSpread(a, shapeOf)) - Number(isSpread(b, shapeOf)))
  for (const parameter of ordered) {
    const { name, in: place, schema, content } = parameter
    if (typeof name !== 'string' || typeof place !== 'string' || !values[place]) continue
    const explode = isExploded(parameter)
    const style = styleOf(parameter)
    const shape = shapeOf(schema)
    const set = (value: Json | undefined) => {
      if (value !== undefined && values[place]) values[place][name] = value
    }
    const split = (raw: string, separator: string): Json => {
      if (shape === 'list') return raw === '' ? [] : raw.split(separator).map(itemOf)
      if (shape === 'object') return fieldsOf(raw.split(separator), explode)
      return text(raw)
    }
    if (isObject(content)) {
      const raw =
        place === 'query'
          ? query.find(([key]) => text(key) === name)?.[1]
          : place === 'path'
            ? inPath?.get(name)
            : request.headers[name.toLowerCase()]
      used.add(name)
      if (raw !== undefined) set(JSON.parse(place === 'header' ? raw : text(raw)))
    } else if (place === 'path') {
      const raw = inPath?.get(name)
      if (raw !== undefined) set(split(raw.replace(style === 'label' ? /^\./ : /^;[^=]*=/, ''), ','))
    } else if (place === 'header') {
      const raw = request.headers[name.toLowerCase()]
      if (raw !== undefined) set(shape === 'value' ? raw : split(raw, ','))
    } else if (place === 'cookie') {
      const raw = cookies.get(name)
      if (raw !== undefined) set(shape === 'value' ? raw : split(raw, ','))
    } else if (isSpread(parameter, shapeOf)) {
      const names = namesOf(schema)
      const isOwn = (key: string) => (names.size > 0 ? names.has(key) : !used.has(key))
      const fields = query.map(([key, value]) => [text(key), itemOf(value)] as const).filter(([key]) => isOwn(key))
      for (const [key] of fields) used.add(key)
      if (fields.length > 0) set(Object.fromEntries(fields))
    } else if (style === 'deepObject' && shape !== 'value') {
      const found = query.filter(([key]) => text(key).startsWith(`${name}[`))
      for (const [key] of found) used.add(text(key))
      if (found.length > 0) set(deepOf(name, found))
    } else {
      const found = query.filter(([key]) => text(key) === name).map(([, value]) => value)
      used.add(name)
      if (found.length === 0) continue
      const separator = { spaceDelimited: '%20', pipeDelimited: '%7C' }[style] ?? ','
      if (shape === 'list' && explode) set(found.map(itemOf))
      else if (found.length === 1)
        set(shape === 'value' ? text(found[0] as string) : split(found[0] as string, separator))
    }
  }
  return { values, unknown: query.map(([key]) => text(key)).filter((key) => !used.has(key)) }
}

/** What the document says about the schema of a parameter. */
export interface Schemas {
  shapeOf(schema: Json | undefined): Shape
  /** The names of the fields of an object. Empty if it may have any. */
  namesOf(schema: Json | undefined): ReadonlySet<string>
}

export type Shape = 'value' | 'list' | 'object'

export interface Decoded {
  readonly values: Readonly<Record<string, JsonObject>>
  /** Names in the query that belong to no parameter. */
  readonly unknown: readonly string[]
}

const styleOf = ({ style, in: place }: JsonObject): string =>
  typeof style === 'string' ? style : place === 'query' || place === 'cookie' ? 'form' : 'simple'

const isExploded = (parameter: JsonObject): boolean =>
  typeof parameter.explode === 'boolean' ? parameter.explode : ['form', 'deepObject'].includes(styleOf(parameter))

const isSpread = (parameter: JsonObject, shapeOf: (schema: Json | undefined) => Shape): boolean =>
  parameter.in === 'query' &&
  styleOf(parameter) === 'form' &&
  isExploded(parameter) &&
  shapeOf(parameter.schema) === 'object'

const text = (raw: string): string => decodeURIComponent(raw)

/** OpenAPI does not say how objects within a list are written. We write them as JSON. */
const itemOf = (raw: string): Json => {
  const value = text(raw)
  return /^[[{]/.test(value) ? JSON.parse(value) : value
}

function* pairsOf(search: string): Generator<readonly [string, string]> {
  for (const pair of search.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    yield at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
  }
}

/** The raw values of the placeholders of a path. */
function matchPath(template: string, { pathname, search }: URL, greedy: boolean): Map<string, string> | undefined {
  const [pattern = ''] = template.split('#')
  const names = [...pattern.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name)
  const source = pattern
    .split(/\{[^{}]+\}/)
    .map((part) => encodeURI(part).replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join(greedy ? '([^/?&]*)' : '([^/?&]+?)')
  const match = new RegExp(`^${source}${pattern.includes('?') ? '' : '$'}`).exec(
    pattern.includes('?') ? pathname + search : pathname,
  )
  return match ? new Map(names.map((name, index) => [name, match[index + 1] ?? ''])) : undefined
}

function fieldsOf(parts: readonly string[], explode: boolean): JsonObject {
  if (explode) {
    return Object.fromEntries(parts.map((part) => [text(part.split('=')[0] ?? ''), text(part.split('=')[1] ?? '')]))
  }
  const pairs = Array.from({ length: Math.floor(parts.length / 2) }, (_, index) => index * 2)
  return Object.fromEntries(pairs.map((at) => [text(parts[at] ?? ''), text(parts[at + 1] ?? '')]))
}

/** `name[a][b]=1` and `name[list][]=1`. */
function deepOf(name: string, pairs: readonly (readonly [string, string])[]): JsonObject {
  const result: JsonObject = {}
  for (const [key, value] of pairs) {
    const parts = [
      ...text(key)
        .slice(name.length)
        .matchAll(/\[([^\]]*)\]/g),
    ].map(([, part = '']) => part)
    put(result, parts, text(value))
  }
  return listed(result) as JsonObject
}

function put(target: JsonObject, [first = '', ...rest]: readonly string[], value: string): void {
  const key = first === '' ? `#${Object.keys(target).length}` : first
  if (rest.length === 0) target[key] = value
  else {
    target[key] ??= {}
    put(target[key] as JsonObject, rest, value)
  }
}

/** Objects whose keys are positions are lists. */
function listed(value: Json): Json {
  if (!isObject(value)) return value
  const keys = Object.keys(value)
  const values = Object.values(value).map((one) => listed(one as Json))
  const isList = keys.length > 0 && keys.every((key, index) => key === `#${index}` || key === String(index))
  return isList ? values : Object.fromEntries(keys.map((key, index) => [key, values[index] as Json]))
}
