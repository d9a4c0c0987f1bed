import { type ApiError, failed, type Outcome } from './outcome.ts'
import { type Bytes, readEvents } from './streams.ts'

export interface Connection {
  /** The URL of the platform, as in `https://tools.example.com`. */
  readonly baseUrl: string
  /** An API key, `sk_…`; null in pages that the platform serves, which use the session cookie. */
  readonly token: string | null
  /** Used instead of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

export interface Options {
  /** Extra headers, as in `{ 'idempotency-key': '…' }`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Endpoint {
  /** `POST /tools/{tool_id}/call`. */
  readonly route: string
  readonly accepts?: 'bytes'
  readonly answers?: 'bytes' | 'events'
}

export interface Request extends Options {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** Sends one request and reads the response. All failures are in the outcome's `error`. */
export async function send(connection: Connection, endpoint: Endpoint, request: Request): Promise<Outcome<unknown>> {
  const [method = '', template = ''] = endpoint.route.split(' ')
  const unusable = [...template.matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) => faultOf(name, request.path?.[name]))
  if (unusable.length > 0) {
    const words = unusable.map(({ path, message }) => `${path}: ${message}`).join('; ')
    return failed('VALIDATION_FAILED', `The input is not valid: ${words}.`, { details: { errors: unusable } })
  }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(request.path?.[name] ?? ''))
  const url = `${connection.baseUrl.replace(/(\/api\/v1)?\/*$/, '')}/api/v1${path}${queryOf(request.query)}`
  const init = { method, headers: headersOf(connection, endpoint, request), ...bodyOf(endpoint, request) }
  const { signal } = request
  try {
    const response = await (connection.fetch ?? fetch)(url, { ...init, ...(signal && { signal }) })
    return await read(response, endpoint)
  } catch (error) {
    if (signal?.aborted) return failed('ABORTED', 'The request was aborted by its signal.')
    return failed('NETWORK', `The platform could not be reached: ${reasonOf(error)}.`)
  }
}

/** A dot segment, even encoded, would be resolved as part of the path and reach another route. */
function faultOf(path: string, value: string | undefined): { path: string; message: string }[] {
  if (value === undefined || value === '') return [{ path, message: 'is missing' }]
  return value === '.' || value === '..' ? [{ path, message: 'is not an id' }] : []
}

function queryOf(query: Request['query'] = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) parameters.append(name, String(one))
    }
  }
  return parameters.size === 0 ? '' : `?${parameters}`
}

function headersOf({ token }: Connection, { accepts }: Endpoint, { body, headers = {} }: Request): Headers {
  const result = new Headers({ 'x-quartermaster-surface': 'sdk' })
  if (token !== null) result.set('authorization', `Bearer ${token}`)
  if (accepts === 'bytes') result.set('content-type', 'application/octet-stream')
  else if (body !== undefined) result.set('content-type', 'application/json')
  for (const [name, value] of Object.entries(headers)) result.set(name, value)
  return result
}

function bodyOf({ accepts }: Endpoint, { body }: Request): RequestInit {
  if (body === undefined) return {}
  // fetch requires this for streams.
  if (accepts === 'bytes') return { body: body as Bytes, duplex: 'half' } as RequestInit
  return { body: JSON.stringify(body) }
}

async function read(response: Response, { answers }: Endpoint): Promise<Outcome<unknown>> {
  const succeeded = (data: unknown): Outcome<unknown> => ({ data, error: undefined, response })
  if (response.ok && response.status === 204) return succeeded(null)
  if (response.ok && answers === 'bytes') return succeeded(response.body ?? new Blob([]).stream())
  if (response.ok && answers === 'events' && response.body) return succeeded(readEvents(response.body))
  const text = await response.text()
  try {
    const json: unknown = JSON.parse(text)
    if (response.ok) return succeeded(json)
    const { code, message, details } = (json as { error: ApiError }).error
    return failed(code, message, { details, response })
  } catch {
    const status = `${response.status} ${response.statusText}`.trim()
    const message = `The response (${status}) does not come from Quartermaster. Check baseUrl.`
    return failed('UNEXPECTED_ANSWER', message, { details: { status: response.status }, response })
  }
}

/** fetch puts the reason into the cause; if several addresses were tried, only into its code. */
export function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  const { message: inner, code } = (cause ?? {}) as { message?: string; code?: string }
  return inner || code || message
}
