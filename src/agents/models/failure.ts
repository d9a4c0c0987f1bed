import { AISDKError, APICallError } from '@ai-sdk/provider'
import type { Redactor } from '../../credentials/redactor.ts'
import { explain } from '../../http/outbound.ts'
import { wholeSlice } from '../../lib/characters.ts'
import { isObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import type { AiProviderRecord } from '../../store/ai-providers.ts'

/** Why an attempt failed. `models.ts` retries all kinds but `final`. */
export type Failure =
  | { readonly kind: 'final'; readonly error: unknown }
  | {
      readonly kind: 'rate limited'
      readonly quota: boolean
      readonly retryAfterMs: number | undefined
      cause?: unknown
    }
  | {
      readonly kind: 'unavailable'
      readonly reason: string
      readonly retryAfterMs: number | undefined
      cause?: unknown
    }

/** A provider's error, extracted from its response. */
export interface ProviderFault {
  readonly status: number | undefined
  /** Error codes and types; providers use several fields for them. */
  readonly codes: readonly string[]
  readonly message: string
  readonly retryAfterMs?: number | undefined
}

/** A provider's error that was detected outside the AI SDK. */
export class ProviderError extends Error {
  readonly complaint: ProviderFault
  constructor(complaint: ProviderFault) {
    super(complaint.message)
    this.complaint = complaint
  }
}

/** Wraps errors thrown by the AI SDK, to tell them from bugs in this code. */
export class SdkFailure extends Error {}

export interface ModelCall {
  readonly provider: AiProviderRecord
  readonly model: string
  readonly secrets: Redactor
}

export function failureOf(thrown: unknown, request: ModelCall): Failure {
  const error = thrown instanceof SdkFailure ? thrown.cause : thrown
  const known = findInCauses(error, (one) => one instanceof PlatformError) as PlatformError | undefined
  if (known?.code === 'RESPONSE_TOO_LARGE') return invalid('it is larger than QM_RESPONSE_LIMIT', request, error)
  if (known) return { kind: 'final', error: known }
  if (error instanceof ProviderError) return judge(error.complaint, request, error)
  if (APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode >= 300) {
    return judge(complaintOf(error), request, error)
  }
  const network = findInCauses(error, isNetworkError)
  if (network) return unreachable(network, request)
  if (AISDKError.isInstance(error)) return ofSdk(error, request)
  const streamed = streamedComplaint(error)
  if (streamed) return judge(streamed, request, error)
  if (thrown instanceof SdkFailure) return invalid('the AI SDK cannot read it', request, error)
  // A bug in this code, not an error of the provider.
  return { kind: 'final', error }
}

const contextTooLong =
  /context[_ ](length|window|size)|maximum context|prompt is too long|input is too long|too many (input )?tokens|exceeds? (the )?(maximum|available|model).{0,40}(tokens|context)|token count.{0,40}exceeds|reduce the length|exceed_context_size|request_too_large/i
// Google also says "exceeded your current quota" for limits that reset within a minute, so that text is not matched here.
const outOfQuota = /insufficient_quota|credit balance|insufficient[_ ](credits|funds|balance)/i
const busy = /rate_limit|overloaded|too_many_requests|resource_exhausted/i
const filtered =
  /content_filter|content_policy|responsible_?ai|safety system|PROHIBITED_CONTENT|content management policy/i
const keyRefused =
  /invalid_api_key|authentication_error|permission_error|API_KEY_INVALID|API key not valid|UNAUTHENTICATED|PERMISSION_DENIED/i
const noSuchModel =
  /model_not_found|not_found_error|not a valid model|model .{0,200}(not found|does not exist|is not supported for)/i
const broken = /^(api_error|server_error|internal_error|INTERNAL|UNAVAILABLE|timeout_error)$/i

function judge({ status, codes, message, retryAfterMs }: ProviderFault, request: ModelCall, cause: unknown): Failure {
  const words = [...codes, message].join(' ').slice(0, 10_000)
  const says = (pattern: RegExp) => pattern.test(words)
  const coded = (pattern: RegExp) => codes.some((code) => pattern.test(code))
  const { provider, model } = request
  const excerpt = excerptOf(message, request.secrets)
  const about = { provider: provider.name, model, ...(excerpt && { excerpt }) }
  const final = (error: PlatformError): Failure => ({ kind: 'final', error })
  if (status === 402 || says(outOfQuota)) return { kind: 'rate limited', quota: true, retryAfterMs, cause }
  if (status === 429 || status === 529 || coded(busy))
    return { kind: 'rate limited', quota: false, retryAfterMs, cause }
  if (status === 413 || ((status ?? 400) < 500 && says(contextTooLong))) {
    return final(new PlatformError('MODEL_CONTEXT_TOO_LONG', about, { cause }))
  }
  if (says(filtered)) return final(new PlatformError('MODEL_REFUSED', about, { cause }))
  if (status === 401 || status === 403 || says(keyRefused)) {
    const details = { provider: provider.name, status: status ?? 401, has_key: provider.api_key !== null }
    return final(new PlatformError('MODEL_KEY_REFUSED', details, { cause }))
  }
  if (status === 404 || ((status ?? 400) < 500 && says(noSuchModel))) {
    return final(new PlatformError('MODEL_NOT_FOUND', about, { cause }))
  }
  const isBroken = status === 408 || (status ?? 0) >= 500 || coded(broken)
  if (isBroken || (status === undefined && !coded(/^invalid_/i))) {
    const reason = status === undefined ? excerpt || 'it ended with an error' : `it returned status ${status}`
    return { kind: 'unavailable', reason, retryAfterMs, cause }
  }
  return final(new PlatformError('MODEL_REQUEST_REFUSED', { ...about, status: status ?? 400 }, { cause }))
}

const invalid = (reason: string, { provider }: ModelCall, cause: unknown, excerpt?: string): Failure => ({
  kind: 'final',
  error: new PlatformError(
    'MODEL_ANSWER_INVALID',
    { provider: provider.name, reason, ...(excerpt && { excerpt }) },
    { cause },
  ),
})

function unreachable(error: unknown, { provider }: ModelCall): Failure {
  const host = URL.parse(provider.base_url ?? '')?.host ?? provider.name
  const explained = explain(error, host)
  if (explained.code !== 'TOOL_UNREACHABLE') return { kind: 'final', error: explained }
  const { reason } = explained.details as { reason: string }
  return { kind: 'unavailable', reason, retryAfterMs: undefined, cause: error }
}

/** Errors that the AI SDK itself detects, in the request or in the response. */
function ofSdk(error: AISDKError, request: ModelCall): Failure {
  const excerpt = excerptOf(error.message, request.secrets)
  if (/UnsupportedFunctionality|InvalidPrompt|InvalidArgument/.test(error.name)) {
    const about = { provider: request.provider.name, model: request.model, status: 400, ...(excerpt && { excerpt }) }
    return { kind: 'final', error: new PlatformError('MODEL_REQUEST_REFUSED', about, { cause: error }) }
  }
  // fetch rejects some requests without connecting, for example to a blocked port.
  if (APICallError.isInstance(error) && error.statusCode === undefined) {
    const reason = excerpt.replace(/^Cannot connect to API: /, '')
    return { kind: 'unavailable', reason, retryAfterMs: undefined, cause: error }
  }
  if (/EmptyResponseBody/.test(error.name)) {
    return { kind: 'unavailable', reason: 'it is empty', retryAfterMs: undefined, cause: error }
  }
  return invalid('it does not match the API of this provider type', request, error, excerpt)
}

/** An error in the middle of a stream. The AI SDK passes on its own error, or the object that the provider sent. */
function streamedComplaint(error: unknown): ProviderFault | undefined {
  if (!isObject(error) || typeof error.message !== 'string') return undefined
  const inner = isObject(error.data) ? error.data : error
  const codes = [error.code, error.type, inner.code, inner.type, inner.status].filter(
    (code): code is string => typeof code === 'string',
  )
  const status = [error.statusCode, inner.code, error.code].find((code) => typeof code === 'number' && code >= 400)
  // An error without code and status comes from this code, not from the provider.
  if (error instanceof Error && codes.length === 0 && status === undefined) return undefined
  return { status: status as number | undefined, codes, message: error.message }
}

function complaintOf(error: APICallError): ProviderFault {
  const body = error.responseBody ?? ''
  const inner = innerError(body)
  const codes = [inner.code, inner.type, inner.status, inner.reason].filter(
    (code): code is string => typeof code === 'string',
  )
  const message = typeof inner.message === 'string' ? inner.message : body
  return { status: error.statusCode, codes, message, retryAfterMs: retryAfterOf(error.responseHeaders ?? {}, body) }
}

/** Providers send `{"error": {…}}`, `{"error": "…"}`, or an array with one of these. */
function innerError(body: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return {}
  }
  if (Array.isArray(value)) [value] = value
  if (!isObject(value)) return {}
  const { error = value } = value
  if (typeof error === 'string') return { message: error }
  if (!isObject(error)) return {}
  const details = Array.isArray(error.details) ? error.details : []
  const reason = details.filter(isObject).find((detail) => typeof detail.reason === 'string')?.reason
  return { ...error, reason }
}

export function retryAfterOf(headers: Readonly<Record<string, string>>, body = ''): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] || Number.NaN)
  if (milliseconds >= 0) return milliseconds
  const given = headers['retry-after']
  const seconds = Number(given || /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1] || Number.NaN)
  if (seconds >= 0) return seconds * 1000
  const until = Date.parse(given ?? '') - Date.now()
  return until >= 0 ? until : undefined
}

const maxShown = 300

/** The beginning of a provider's message, on one line, with anything that looks like a key redacted. */
export function excerptOf(text: string, secrets: Redactor): string {
  const shown = secrets
    .text(text.slice(0, 20_000))
    .replaceAll(/\b(?:(?:sk|pk|key|gsk|xai)[-_]|AIza)[A-Za-z0-9*._-]{12,}/g, '[redacted]')
    .replaceAll(/\bBearer\s+\S+/gi, 'Bearer [redacted]')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return shown.length > maxShown ? `${wholeSlice(shown, maxShown)}…` : shown
}

function findInCauses(error: unknown, isIt: (error: unknown) => boolean): unknown {
  let current = error
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (isIt(current)) return current
    current = current.cause
  }
  return undefined
}

const isNetworkError = (error: unknown): boolean =>
  error instanceof Error &&
  !AISDKError.isInstance(error) &&
  (error.constructor.name === 'Refusal' ||
    (error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message) && error.cause === undefined) ||
    ('code' in error &&
      typeof error.code === 'string' &&
      /^(E[A-Z]+$|EAI_|UND_|ERR_|HPE_|CERT|UNABLE_|SELF_|DEPTH_)/.test(error.code)))
