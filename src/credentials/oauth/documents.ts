import { excessOf, isObject, type JsonObject } from '../../lib/json.ts'
import { Misconfigured, TemporaryFailure } from './errors.ts'
import { retryAfterOf } from './retry-after.ts'

const maxRedirects = 3
const maxDepth = 20

/**
 * Fetches a metadata document. Returns undefined if the server says that there is none. Follows redirects within the origin
 * only: a document from elsewhere says nothing about this server.
 */
export async function fetchDocument(location: string, fetch: typeof globalThis.fetch): Promise<JsonObject | undefined> {
  const { origin, host } = new URL(location)
  let url = location
  for (let followed = 0; ; followed++) {
    const response = await fetch(url, { headers: { accept: 'application/json' } })
    const { status, ok } = response
    if (ok) return parseDocument(await response.text(), host)
    const target = status >= 300 && status < 400 ? URL.parse(response.headers.get('location') ?? '', url) : null
    if (target && target.origin === origin && followed < maxRedirects) {
      url = target.href
      continue
    }
    if (status >= 300 && status < 400) throw redirected(host, status)
    if (status >= 500 || status === 429) throw unavailable(host, response)
    return undefined
  }
}

function parseDocument(text: string, host: string): JsonObject {
  const excess = excessOf(text, maxDepth)
  if (excess) throw invalidDocument(host, excess)
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {}
  throw invalidDocument(host, 'is not a JSON object')
}

export const invalidDocument = (host: string, reason: string) =>
  new Misconfigured(`The OAuth metadata of "${host}" ${reason}. Ask the operator of the server to fix it.`, {
    host,
    code: 'invalid_metadata',
  })

const redirected = (host: string, status: number) =>
  new Misconfigured(`"${host}" redirects requests for its OAuth metadata to another place, which is not followed.`, {
    host,
    code: 'redirected',
    status,
  })

const unavailable = (host: string, response: Response) =>
  new TemporaryFailure(`"${host}" answered ${response.status} to a request for its OAuth metadata. Try again later.`, {
    host,
    code: 'unavailable',
    status: response.status,
    retryAfterMs: retryAfterOf(response),
  })
