import { Redactor } from '../credentials/redactor.ts'
import { secretsInUrl } from '../credentials/tool-secrets.ts'
import { explain, type HttpClient } from '../http/outbound.ts'
import { wholeSlice } from '../lib/characters.ts'

/** How a delivery was answered. Without an error it was taken. */
export interface Answered {
  readonly status: number | null
  readonly error: string | null
  readonly excerpt: string | null
}

export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** What the target knows and its answer must not tell. */
  readonly secrets: Iterable<string>
  readonly signal?: AbortSignal | undefined
}

const timeLimitMs = 10_000
const readBytes = 16 * 1024
const keptCharacters = 2000

/** Sends a delivery. Whatever the target does is an answer, not an error: no redirect is followed, and little is read. */
export async function post(http: Pick<HttpClient, 'fetch'>, request: Post): Promise<Answered> {
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
    // The headers have said how it went; that its words were not to be had changes nothing.
    if (status !== null) return { status, error: faultOf(status), excerpt: null }
    if (limit.aborted)
      return { status, error: `The target did not answer within ${timeLimitMs / 1000} s.`, excerpt: null }
    if (request.signal?.aborted) return { status, error: 'The platform is stopping.', excerpt: null }
    return { status, error: reasonOf(error, new URL(request.url)), excerpt: null }
  }
}

/** `fetch` wraps what happened, and does not call ports that belong to other protocols. */
function reasonOf(error: unknown, { host, port }: URL): string {
  const cause = error instanceof TypeError && error.cause !== undefined ? error.cause : error
  if (cause instanceof Error && cause.message === 'bad port') {
    return `Port ${port} belongs to another protocol than HTTP, so it is not called.`
  }
  return explain(cause, host).message
}

function faultOf(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400)
    return `The target answered ${status}: redirects are not followed, so give its final address.`
  return `The target answered ${status}.`
}

/** As much of the body as helps to find out what is wrong, in text that every database can keep. */
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
