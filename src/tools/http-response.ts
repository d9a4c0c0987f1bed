import type { Redactor } from '../credentials/redactor.ts'
import type { OutboundResponse } from '../http/outbound.ts'
import { excessOf } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { done, type Output } from '../model/tool.ts'

/** The body as JSON, text or base64, depending on its media type. */
export function readResponse({ headers, body }: OutboundResponse): Output {
  if (body.byteLength === 0) return done(null)
  const type = (headers['content-type'] ?? '').toLowerCase()
  const isJson = /[/+]json\b/.test(type)
  if (!isJson && type !== '' && !/^text\/|xml|javascript|x-www-form-urlencoded/.test(type)) {
    return done({ content_type: type, size: body.byteLength, base64: body.toString('base64') })
  }
  const text = body.toString('utf8').replace(/^\uFEFF/, '')
  return isJson || type === '' ? parsed(text) : done(text)
}

function parsed(text: string): Output {
  const excess = excessOf(text, Number.POSITIVE_INFINITY)
  if (excess !== undefined) throw new PlatformError('RESPONSE_TOO_COMPLEX', { reason: excess })
  try {
    return done(JSON.parse(text), text)
  } catch {
    return done(text)
  }
}

const longestError = 16_384

/** Redacts secrets before truncating the body, because part of a secret would not be recognised. */
export function refused(
  request: { readonly url: string; readonly method: string },
  redactor: Redactor,
  { status, body }: OutboundResponse,
): PlatformError {
  const text = redactor.text(body.subarray(0, 2 * longestError).toString('utf8'))
  const whole = redactor.value(parsed(text).value)
  return new PlatformError('TOOL_HTTP_ERROR', {
    tool_status_code: status,
    tool_url: request.url,
    tool_method: request.method,
    tool_response_body: text.length <= longestError ? whole : text.slice(0, longestError),
  })
}
