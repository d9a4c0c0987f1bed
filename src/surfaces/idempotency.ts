import { createHash } from 'node:crypto'
import { PlatformError } from '../model/errors.ts'
import type { IdempotencyKeys } from '../store/idempotency-keys.ts'

export interface Repeatable {
  readonly principalId: string
  readonly key: string
  /** What must be the same for a request to be a repeat. */
  readonly fingerprint: string
  readonly secretFields?: readonly string[] | undefined
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Runs a request that carries an Idempotency-Key at most once: a repeat gets the first answer again. Mistakes of the
 * caller had no effect and are not kept, so the corrected request may use the same key. When the platform dies in
 * between, the outcome is unknown, and the key says so until it expires. A failure beyond the caller's control may have had an
 * effect, so it is kept like a success.
 */
export async function idempotently(
  keys: IdempotencyKeys,
  request: Repeatable,
  run: () => Promise<Response>,
  asResponse: (error: unknown) => Response,
): Promise<Response> {
  const { principalId, key } = request
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new PlatformError('VALIDATION_FAILED', {
      errors: [{ path: 'Idempotency-Key', message: 'must be 1 to 255 printable characters' }],
    })
  }
  const hash = createHash('sha256').update(request.fingerprint).digest('hex')
  const kept = await keys.claim(principalId, key, hash)
  if (kept) {
    if (kept.request_hash !== hash) throw new PlatformError('IDEMPOTENCY_KEY_REUSED', { key })
    if (!kept.answer) throw new PlatformError('IDEMPOTENCY_IN_PROGRESS', { key })
    const type = isEvents(kept.answer.body) ? eventStream : 'application/json'
    return new Response(kept.answer.body, {
      status: kept.answer.status,
      headers: { ...request.headers, 'content-type': type, 'idempotency-replayed': 'true' },
    })
  }
  const keep = (response: Response, body: string) => keys.keep(principalId, key, { status: response.status, body })
  try {
    const response = await run()
    // The answer is still to come, so the same request is to be made again.
    if (response.status === 202) await keys.release(principalId, key)
    else if (response.headers.get('content-type') === eventStream) return passedOn(response, keep)
    else await keep(response, withoutSecrets(await response.clone().text(), request.secretFields))
    return response
  } catch (error) {
    if (hadNoEffect(error)) await keys.release(principalId, key)
    else {
      const response = asResponse(error)
      await keep(response, await response.clone().text())
      return response
    }
    throw error
  }
}

/** A stream is passed on as it comes, and ends for its reader once it is kept; a reader who leaves before loses nothing. */
function passedOn(response: Response, keep: (response: Response, body: string) => Promise<unknown>): Response {
  const kept = response
    .clone()
    .text()
    .then((body) => keep(response, body))
    .then(
      () => {},
      () => {},
    )
  const body = response.body?.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({ flush: () => kept }))
  return new Response(body ?? null, response)
}

const eventStream = 'text/event-stream'

/** No JSON begins like that, and every stream of ours does. */
const isEvents = (body: string): boolean => body.startsWith(':')

const hadNoEffect = (error: unknown): boolean =>
  error instanceof PlatformError &&
  (error.status < 500 ||
    error.code === 'SHUTTING_DOWN' ||
    (error.code === 'DATABASE_UNAVAILABLE' && (error as PlatformError<'DATABASE_UNAVAILABLE'>).details.retry_safe))

/** What is shown once is not kept to be shown again. */
function withoutSecrets(text: string, fields: readonly string[] | undefined): string {
  if (!fields) return text
  return JSON.stringify(JSON.parse(text), (key, value) => (fields.includes(key) ? undefined : value))
}
