import { PlatformError } from './errors.ts'

/**
 * The database cannot be reached or written to. Thrown by the store, which knows of one statement only. Whoever knows what
 * the statement was a part of says whether it is safe to do it again.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
  /** For people, without a period: "the connection was lost". */
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

/** What callers are told of an error that the catalogue has; undefined for any other. */
export const knownError = (error: unknown): PlatformError | undefined =>
  error instanceof PlatformError ? error : error instanceof DatabaseUnavailable ? error.toError() : undefined
