import { PlatformError } from './errors.ts'

/**
 * The database cannot be reached or written to. Thrown by the store, which only knows a single statement. The caller, which
 * knows the context, decides whether a retry is safe.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
  /** A readable reason without a period: "the connection was lost". */
  readonly reason: string
  /** Whether the statement only read. */
  readonly onlyRead: boolean

  constructor(reason: string, onlyRead: boolean, options?: { cause?: unknown }) {
    super(`The database is unavailable: ${reason}`, options)
    this.reason = reason
    this.onlyRead = onlyRead
  }

  toError(retrySafe = this.onlyRead): PlatformError {
    return new PlatformError('DATABASE_UNAVAILABLE', { reason: this.reason, retry_safe: retrySafe }, { cause: this })
  }
}

/** The error that callers see, if it is in the catalogue; undefined otherwise. */
export const knownError = (error: unknown): PlatformError | undefined =>
  error instanceof PlatformError ? error : error instanceof DatabaseUnavailable ? error.toError() : undefined
