import { createHash } from 'node:crypto'
import { PlatformError } from '../../model/errors.ts'
import type { EventStream } from '../../operations/operation.ts'
import { opening, printEvent } from '../../server/event-stream.ts'
import type { IdempotencyKeys } from '../../store/idempotency-keys.ts'
import type { RestReply } from './rest-reply.ts'

export interface Repeatable {
  readonly principalId: string
  readonly key: string
  /** Must be equal for a request to count as a retry. */
  readonly fingerprint: string
  readonly secretFields?: readonly string[] | undefined
  /** Whether 202 is the normal response. Otherwise it means that the result is not ready yet. */
  readonly isAccepted?: boolean
}

/**
 * Runs a request with an Idempotency-Key at most once; a retry gets the first response. Client errors had no effect and
 * are not stored, so the corrected request can use the same key. If the platform crashes in between, the outcome is
 * unknown, and the key reports that until it expires. Server errors may have had an effect, so they are stored like a
 * success.
 */
export async function idempotently(
  keys: IdempotencyKeys,
  { principalId, key, fingerprint, secretFields, isAccepted = false }: Repeatable,
  run: () => Promise<RestReply>,
  errorReply: (error: unknown) => RestReply & { readonly text: string },
): Promise<RestReply> {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new PlatformError('VALIDATION_FAILED', {
      errors: [{ path: 'Idempotency-Key', message: 'must be 1 to 255 printable characters' }],
    })
  }
  const hash = createHash('sha256').update(fingerprint).digest('hex')
  const kept = await keys.claim(principalId, key, hash)
  if (kept) {
    if (kept.request_hash !== hash) throw new PlatformError('IDEMPOTENCY_KEY_REUSED', { key })
    if (!kept.answer) throw new PlatformError('IDEMPOTENCY_IN_PROGRESS', { key })
    const { status, body } = kept.answer
    const isStream = body.startsWith(opening)
    const headers = { 'idempotency-replayed': 'true', ...(isStream && { 'content-type': 'text/event-stream' }) }
    return { status, text: body, headers }
  }
  const keep = (status: number, body: string) => keys.keep(principalId, key, { status, body })
  try {
    const reply = await run()
    // The result is not ready yet, so the client is expected to repeat the request.
    if (reply.status === 202 && !isAccepted) await keys.release(principalId, key)
    else if (reply.events) return { ...reply, events: recorded(reply.events, (body) => keep(reply.status, body)) }
    else await keep(reply.status, withoutSecrets(reply.text ?? '', secretFields))
    return reply
  } catch (error) {
    if (hadNoEffect(error)) {
      await keys.release(principalId, key)
      throw error
    }
    const reply = errorReply(error)
    await keep(reply.status, reply.text)
    return reply
  }
}

/**
 * Forwards events as they arrive, and ends after they are stored. A client that disconnects early can fetch all of them
 * by a retry.
 */
const recorded = (source: EventStream, keep: (body: string) => Promise<unknown>): EventStream => ({
  async subscribe(send, end) {
    let reader: { send: typeof send; end: typeof end } | undefined = { send, end }
    let body = opening
    await source.subscribe(
      (event) => {
        body += printEvent(event)
        reader?.send(event)
      },
      () =>
        void keep(body)
          .catch(() => {})
          .then(() => reader?.end()),
    )
    return () => {
      reader = undefined
    }
  },
})

const hadNoEffect = (error: unknown): boolean =>
  error instanceof PlatformError &&
  (error.status < 500 ||
    error.code === 'SHUTTING_DOWN' ||
    (error.code === 'DATABASE_UNAVAILABLE' && (error as PlatformError<'DATABASE_UNAVAILABLE'>).details.retry_safe))

/** Fields that are shown only once are not stored. */
function withoutSecrets(text: string, fields: readonly string[] | undefined): string {
  if (!fields) return text
  return JSON.stringify(JSON.parse(text), (key, value) => (fields.includes(key) ? undefined : value))
}
