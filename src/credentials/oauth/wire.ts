import { explain } from '../../http/outbound.ts'
import { isLoopbackUrl } from './endpoints.ts'
import { Misconfigured, OAuthError, TemporaryFailure } from './errors.ts'
import type { OAuthContext, TraceStep } from './types.ts'

/** Metadata and token responses are small. The limit keeps a hostile server from filling memory. */
export const maxBytes = 256 * 1024
const defaultTimeoutMs = 10_000

type TracedRequest = { -readonly [K in 'method' | 'url' | 'status']?: TraceStep[K] }

/** Runs one step with a limited fetch, and reports how it ended. `run` returns the result and what to say about it. */
export async function traced<T>(
  step: TraceStep['step'],
  context: OAuthContext,
  run: (fetch: typeof globalThis.fetch) => Promise<readonly [result: T, detail: string]>,
): Promise<T> {
  const seen: TracedRequest = {}
  try {
    const [result, detail] = await run(limitedFetch(context, seen))
    context.trace?.({ step, ok: true, ...seen, detail })
    return result
  } catch (error) {
    // Other errors may quote responses, which may contain secrets.
    const detail = error instanceof OAuthError ? error.message : 'The request failed.'
    context.trace?.({ step, ok: false, ...seen, detail })
    throw error
  }
}

/** Sends one request: only to https URLs or loopback, without following redirects, limited in time and size. */
function limitedFetch(context: OAuthContext, seen: TracedRequest): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    Object.assign(seen, { method: init.method ?? 'GET', url: url.host + url.pathname, status: undefined })
    assertSecure(url)
    const { timeoutMs = defaultTimeoutMs } = context
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([timeout, ...[context.signal, init.signal].filter((one) => one != null)])
    try {
      const response = await context.fetch(url.href, { ...plain(init), redirect: 'manual', signal })
      seen.status = response.status
      const body = await readBody(response, url.host)
      return new Response(hasNoBody.has(response.status) ? null : body, {
        status: response.status,
        headers: [...response.headers],
      })
    } catch (error) {
      context.signal?.throwIfAborted()
      throw timeout.aborted ? timedOut(url.host, timeoutMs) : failed(error, url.host)
    }
  }
}

const hasNoBody = new Set([204, 205, 304])

/** Only types that every implementation of fetch accepts, because libraries use the global classes. */
const plain = ({ method, headers, body }: RequestInit): RequestInit => ({
  ...(method && { method }),
  headers: Object.fromEntries(new Headers(headers)),
  ...(body != null && { body: String(body) }),
})

async function readBody(response: Response, host: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(host)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function assertSecure(url: URL): void {
  const secure = url.protocol === 'https:' || isLoopbackUrl(url)
  if (secure && url.username === '' && url.password === '') return
  const host = url.host || url.protocol
  throw new Misconfigured(
    `Requests to "${host}" were refused: OAuth URLs must use https and must not contain a password. Fix the URL that the server publishes.`,
    { host, code: 'insecure_url' },
  )
}

const tooLarge = (host: string) =>
  new Misconfigured(`The response of "${host}" is larger than ${maxBytes} bytes, so it was not read.`, {
    host,
    code: 'response_too_large',
  })

const timedOut = (host: string, timeoutMs: number) =>
  new TemporaryFailure(`"${host}" did not answer within ${timeoutMs / 1000} seconds. Try again later.`, {
    host,
    code: 'timeout',
  })

/** `fetch` wraps the reason of a failure in a TypeError. */
function failed(error: unknown, host: string): unknown {
  if (error instanceof OAuthError) return error
  const reason = error instanceof TypeError && error.cause !== undefined ? error.cause : error
  const { code, message } = explain(reason, host)
  if (code === 'RESPONSE_TOO_LARGE') return tooLarge(host)
  const failure = { host, code: code.toLowerCase(), cause: reason }
  return code === 'EGRESS_BLOCKED'
    ? new Misconfigured(message, failure)
    : new TemporaryFailure(`${message} Try again later.`, failure)
}
