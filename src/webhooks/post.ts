import { Redactor } from '../credentials/redactor.ts'
import { secretsInUrl } from '../credentials/tool-secrets.ts'
import { explain, type HttpClient } from '../http/outbound.ts'
import { wholeSlice } from '../lib/characters.ts'

/** The response to a delivery. Without an error it was delivered. */
export interface WebhookResponse {
  readonly status: number | null
  readonly error: string | null
  readonly excerpt: string | null
}

export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Secrets of the receiver, redacted in the excerpt of its response. */
  readonly secrets: Iterable<string>
  readonly signal?: AbortSignal | undefined
}

const timeLimitMs = 10_000
const readBytes = 16 * 1024
const keptCharacters = 2000

/**
 * Sends a delivery. Any response or failure is returned, not thrown. Redirects are not followed, and only the beginning
 * of the body is read.
 */
export async function post(http: Pick<HttpClient, 'fetch'>, request: Post): Promise<WebhookResponse> {
  const limit = AbortSignal.timeout(timeLimitMs)
  let status: number | null = null
  try {
    const response = await http.fetch(request.url, {
      method: 'POST',
      headers: { ...request.headers, 'content-type': 'application/json', 'user-agent': 'Quartermaster-Webhooks' },
      body: request.body,
      redirect: 'manual',
      signal: request.signal ? AbortSignal.any([request.signal, limit]) : limit,
    })
    status = response.status
    const excerpt = await beginningOf(response, new Redactor([...request.secrets, ...secretsInUrl(request.url)]))
    return { status, error: faultOf(status), excerpt }
  } catch (error) {
    // The status is known, so a failure to read the body does not matter.
    if (status !== null) return { status, error: faultOf(status), excerpt: null }
    if (limit.aborted)
      return { status, error: `The endpoint did not respond within ${timeLimitMs / 1000} s.`, excerpt: null }
    if (request.signal?.aborted) return { status, error: 'The platform is shutting down.', excerpt: null }
    return { status, error: reasonOf(error, new URL(request.url)), excerpt: null }
  }
}

/** `fetch` wraps the error, and refuses ports of other protocols. */
function reasonOf(error: unknown, { host, port }: URL): string {
  const cause = error instanceof TypeError && error.cause !== undefined ? error.cause : error
  if (cause instanceof Error && cause.message === 'bad port') {
    return `Port ${port} is on the list of blocked ports. Use another port.`
  }
  return explain(cause, host).message
}

function faultOf(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400)
    return `The endpoint returned status ${status}. Redirects are not followed: use the final URL.`
  return `The endpoint returned status ${status}.`
}

/** The beginning of the body, for debugging, as text that every database can store. */
async function beginningOf(response: Response, secrets: Redactor): Promise<string | null> {
  if (response.body === null) return null
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body) {
    parts.push(part)
    size += part.length
    if (size >= readBytes) break
  }
  const text = new TextDecoder().decode(Buffer.concat(parts).subarray(0, readBytes))
  return wholeSlice(secrets.text(text).replaceAll('\0', '�'), keptCharacters)
}
