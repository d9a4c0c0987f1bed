import { PlatformError } from './errors.ts'

export type ConnectionRequired = PlatformError<'CONNECTION_REQUIRED'>

export const isConnectionRequired = (error: unknown): error is ConnectionRequired =>
  error instanceof PlatformError && error.code === 'CONNECTION_REQUIRED'

/** The error for the call log: anyone who has the link can use it, so it is not recorded. */
export const withoutLink = (error: PlatformError): PlatformError =>
  isConnectionRequired(error)
    ? new PlatformError('CONNECTION_REQUIRED', { ...error.details, connect_url: null }, { cause: error })
    : error
