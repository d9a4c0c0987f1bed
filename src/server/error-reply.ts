import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { knownError } from '../model/database-unavailable.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import { type Exchange, type ReplyHeaders, sendJson } from './exchange.ts'

/** A catalogue error is returned as is. Anything else is a bug: logged with its stack, and reported as `INTERNAL`. */
export function toPlatformError(error: unknown, log: Logger): PlatformError {
  const known = knownError(error)
  if (known) return known
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

/** Sends an error as HTTP. Once a reply has started, it can no longer become an error. */
export function sendError(exchange: Exchange, error: unknown, log: Logger, given?: ReplyHeaders): number {
  const { status, headers, text } = errorReply(error, log, given)
  if (!exchange.isAnswered) sendJson(exchange, status, text, headers)
  return status
}
