import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { knownError } from '../model/database-unavailable.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import { type Download, isEventStream, JsonText, type Operation } from '../operations/operation.ts'
import { events } from './events.ts'

type Headers = Readonly<Record<string, string>>

/** What an operation returned, as HTTP. */
export function answer(operation: Operation, result: unknown, headers: Headers, closing: AbortSignal): Response {
  if (operation.status === 204) return new Response(null, { status: 204, headers })
  if (operation.answers === 'bytes') return download(result as Download, headers)
  if (isEventStream(result)) return events(result, headers, closing)
  const text = result instanceof JsonText ? result.text : JSON.stringify(result)
  const status = (result instanceof JsonText && result.status) || operation.status
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } })
}

/** What went wrong, as HTTP. What is not in the catalogue is logged whole and told to nobody. */
export function answerError(error: unknown, log: Logger, given: Headers = {}): Response {
  const known = knownError(error) ?? unexpected(error, log)
  const headers: Record<string, string> = { 'content-type': 'application/json', ...given }
  if (known.status === 401) headers['www-authenticate'] = 'Bearer realm="quartermaster"'
  if (known.code === 'RATE_LIMITED') {
    const { limit, retry_after_seconds: seconds } = (known as PlatformError<'RATE_LIMITED'>).details
    Object.assign(headers, {
      'ratelimit-limit': String(limit),
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(seconds),
      'retry-after': String(seconds),
    })
  }
  if (known.code === 'TOO_MANY_SIGN_INS') {
    headers['retry-after'] = String((known as PlatformError<'TOO_MANY_SIGN_INS'>).details.retry_after_seconds)
  }
  if (known.code === 'DATABASE_UNAVAILABLE') headers['retry-after'] = '1'
  if (known.code === 'SHUTTING_DOWN') Object.assign(headers, { 'retry-after': '5', connection: 'close' })
  if (known.code === 'METHOD_NOT_ALLOWED') {
    headers.allow = (known as PlatformError<'METHOD_NOT_ALLOWED'>).details.allowed.join(', ')
  }
  if (known.code === 'RANGE_NOT_SATISFIABLE') {
    headers['content-range'] = `bytes */${(known as PlatformError<'RANGE_NOT_SATISFIABLE'>).details.size}`
  }
  return new Response(JSON.stringify(errorBody(known)), { status: known.status, headers })
}

function unexpected(error: unknown, log: Logger): PlatformError {
  const id = randomUUID()
  log.error({ err: error, request_id: id }, 'a fault of the platform')
  return new PlatformError('INTERNAL', { request_id: id })
}

function download({ bytes, contentType, size, etag, part }: Download, given: Headers): Response {
  const headers: Record<string, string> = {
    ...given,
    'content-type': contentType,
    'accept-ranges': 'bytes',
    etag,
    // What people store is never run as a page of ours.
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'content-length': String(part ? part.end - part.start : size),
  }
  if (part) headers['content-range'] = `bytes ${part.start}-${part.end - 1}/${size}`
  return new Response(ReadableStream.from(bytes) as ReadableStream, { status: part ? 206 : 200, headers })
}
