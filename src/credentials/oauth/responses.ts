import { excessOf, isObject, type JsonObject } from '../../lib/json.ts'
import { Redactor } from '../redactor.ts'
import { isErrorCode } from './challenge.ts'
import { type OAuthError, TemporaryFailure } from './errors.ts'
import { retryAfterOf } from './retry-after.ts'

/** The error of a response, safe to show: without control characters, short, and without the secrets of the request. */
export interface ResponseError {
  readonly code?: string
  readonly description?: string
}

/** Reads a response as JSON, or as a form, which some apps send. Anything else gives an empty object. */
export function parseBody(text: string): JsonObject {
  if (excessOf(text)) return {}
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return /^[\w.-]+=/.test(text) ? Object.fromEntries(new URLSearchParams(text)) : {}
  }
}

/** The error of a response body, in the standard form or in one of the common others. */
export function errorIn(body: JsonObject, secrets: readonly string[] = []): ResponseError {
  const { error, error_description, message } = body
  const nested = isObject(error) ? error : undefined
  const code = [error, nested?.code, nested?.type].find((value) => typeof value === 'string' && isErrorCode(value))
  const text = [error_description, nested?.message, message, code === undefined ? error : undefined].find(isText)
  return {
    ...(typeof code === 'string' && { code }),
    ...(text !== undefined && { description: cleaned(text, secrets) }),
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const maxDescription = 200

/** The text is the server's. It is shown to people, and may quote what we sent. */
export function cleaned(text: string, secrets: readonly string[]): string {
  const plain = text.replace(/[\p{C}\p{Z}]+/gu, ' ')
  const clean = new Redactor(secrets).text(plain).trim()
  return clean.length > maxDescription ? `${clean.slice(0, maxDescription)}…` : clean
}

/** For messages: `invalid_grant: Token expired`, or the status if the response says nothing. */
export const describe = ({ code, description }: ResponseError, status: number): string =>
  [code ?? `status ${status}`, description?.replace(/[.\s]+$/, '')].filter(isText).join(': ')

export const temporary = (response: Response, error: ResponseError, host: string): OAuthError =>
  new TemporaryFailure(
    `The authorization server at "${host}" is temporarily unavailable (${describe(error, response.status)}). Try again later.`,
    { host, code: error.code ?? 'unavailable', status: response.status, retryAfterMs: retryAfterOf(response) },
  )
