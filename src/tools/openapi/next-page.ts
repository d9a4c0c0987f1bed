import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { listIn } from '../../lib/json-list.ts'
import type { ApiOperation } from './operation.ts'

/** Fields with a token or a URL for the next page, and the objects that they may be in. */
const tokens =
  /^@?(odata\.)?(next(_?page)?(_?(token|cursor|marker|link|url|href))?|end_?cursor|continuation_?token|cursor)$/i
const holders = [
  'meta',
  'metadata',
  'response_metadata',
  'pagination',
  'paging',
  'page_info',
  'pageInfo',
  'links',
  '_links',
  'cursors',
  '_pagination',
]
const totals = ['total', 'total_count', 'totalCount', 'totalResults', 'total_results', '@odata.count']

/** The arguments to change for the next page; undefined if the response does not say that there is one. */
export function nextPage(
  operation: Pick<ApiOperation, 'paging' | 'parameters'>,
  input: JsonObject,
  headers: Readonly<Record<string, string>>,
  value: Json,
): JsonObject | undefined {
  const { paging = {} } = operation
  const link = /<([^>]*)>\s*;[^,]*\brel="?next"?/i.exec(headers.link ?? '')?.[1]
  if (link !== undefined) return fromUrl(link, operation, input)
  if (!isObject(value)) return undefined
  for (const holder of [value, ...holders.map((name) => value[name])]) {
    const found = isObject(holder) ? fromToken(holder, operation, input) : undefined
    if (found) return found
  }
  const items = listIn(value)
  if (!items || items.length === 0) return undefined
  const start = Number(paging.offset === undefined ? 0 : (input[paging.offset] ?? 0))
  const total = totals.map((name) => value[name]).find((one) => typeof one === 'number')
  const hasMore = value.has_more === true || value.hasMore === true || value.hasNextPage === true
  if (!hasMore && !(typeof total === 'number' && total > start + items.length)) return undefined
  if (hasMore && paging.cursor !== undefined) return afterLast(paging.cursor, items)
  if (paging.offset !== undefined) return { [paging.offset]: start + items.length }
  if (!hasMore || paging.page === undefined) return undefined
  return { [paging.page]: Number(input[paging.page] ?? 1) + 1 }
}

/** Some APIs continue after the id of the last item. */
function afterLast(cursor: string, items: readonly Json[]): JsonObject | undefined {
  const last = items.at(-1)
  return isObject(last) && typeof last.id === 'string' ? { [cursor]: last.id } : undefined
}

function fromToken(holder: JsonObject, operation: Pick<ApiOperation, 'paging' | 'parameters'>, input: JsonObject) {
  const { paging = {} } = operation
  for (const [name, found] of Object.entries(holder)) {
    if (!tokens.test(name)) continue
    const token = isObject(found) ? (found.href ?? found.url) : found
    if (typeof token === 'string' && /^https?:\/\/|^[/?]/.test(token)) return fromUrl(token, operation, input)
    if (typeof token === 'number' && paging.page !== undefined) return { [paging.page]: token }
    if (typeof token === 'string' && token !== '' && paging.cursor !== undefined && input[paging.cursor] !== token) {
      return { [paging.cursor]: token }
    }
  }
  return undefined
}

/** The query parameters of a URL that differ from those of the request. */
function fromUrl(
  link: string,
  { parameters }: Pick<ApiOperation, 'parameters'>,
  input: JsonObject,
): JsonObject | undefined {
  const query = URL.parse(link, 'http://base.invalid')?.searchParams
  if (!query) return undefined
  const changed = parameters.flatMap(({ in: place, name, property }): [string, Json][] => {
    const value = place === 'query' ? query.get(name) : null
    if (value === null || String(input[property] ?? '') === value) return []
    return [[property, /^\d{1,15}$/.test(value) ? Number(value) : value]]
  })
  return changed.length > 0 ? Object.fromEntries(changed) : undefined
}
