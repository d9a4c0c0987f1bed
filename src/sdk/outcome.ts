import type { PlatformErrorCode } from './operations.ts'

/** A code of the platform, or one of the SDK's own for when there is no answer to read. Later platforms may have more. */
export type ErrorCode = PlatformErrorCode | 'NETWORK' | 'ABORTED' | 'UNEXPECTED_ANSWER' | (string & {})

export interface ApiError {
  readonly code: ErrorCode
  /** What happened and, where there is one, what to do next. */
  readonly message: string
  readonly details: Record<string, unknown>
}

/** Either `data` or `error` is there. `response` is missing where the platform did not answer. */
export type Outcome<Data> =
  | { readonly data: Data; readonly error: undefined; readonly response: Response }
  | { readonly data: undefined; readonly error: ApiError; readonly response: Response | undefined }

export const failed = (
  code: ErrorCode,
  message: string,
  { details = {}, response }: { details?: Record<string, unknown>; response?: Response } = {},
): Outcome<never> => ({ data: undefined, error: { code, message, details }, response })
