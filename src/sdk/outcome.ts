import type { PlatformErrorCode } from './operations.ts'

/**
 * An error code of the platform, or one of the SDK's own if there is no valid response. Later platforms may add codes.
 */
export type ErrorCode = PlatformErrorCode | 'NETWORK' | 'ABORTED' | 'UNEXPECTED_ANSWER' | (string & {})

export interface ApiError {
  readonly code: ErrorCode
  /** What happened and, if possible, what to do next. */
  readonly message: string
  readonly details: Record<string, unknown>
}

/** Either `data` or `error` is set. `response` is missing if the platform did not respond. */
export type Outcome<Data> =
  | { readonly data: Data; readonly error: undefined; readonly response: Response }
  | { readonly data: undefined; readonly error: ApiError; readonly response: Response | undefined }

export const failed = (
  code: ErrorCode,
  message: string,
  { details = {}, response }: { details?: Record<string, unknown>; response?: Response } = {},
): Outcome<never> => ({ data: undefined, error: { code, message, details }, response })
