import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { errorBody, PlatformError } from '../model/errors.ts'
import { type Exchange, type ReplyHeaders, sendJson } from './exchange.ts'

/** An error from the catalogue as it is; anything else is a bug: logged whole, and reported as `INTERNAL`. */
export function toPlatformError(error: unknown, log: Logger): PlatformError {
  if (error instanceof PlatformError) return error
  const id = randomUUID()
  log.error({ err: error, request_id: id }, 'internal error')
  return new PlatformError('INTERNAL', { request_id: id })
}

export interface ErrorReply {
  readonly status: number
  readonly headers: ReplyHeaders
  readonly text: string
}

export function errorReply(error: unknown, log: Logger, headers: ReplyHeaders = {}): ErrorReply {
  const known = toPlatformError(error, log)
  return { status: known.status, headers: { ...headers, ...known.headers }, text: JSON.stringify(errorBody(known)) }
}

/** Sends an error as HTTP; a reply that has begun cannot become one any more. */
export function sendError(exchange: Exchange, error: unknown, log: Logger, given?: ReplyHeaders): number {
  const { status, headers, text } = errorReply(error, log, given)
  if (!exchange.isAnswered) sendJson(exchange, status, text, headers)
  return status
}
