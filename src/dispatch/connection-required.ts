import { PlatformError } from '../model/errors.ts'

export const isConnectionRequired = (error: unknown): error is PlatformError<'CONNECTION_REQUIRED'> =>
  error instanceof PlatformError && error.code === 'CONNECTION_REQUIRED'

/** The error for the call log: whoever has the link can use it, so it is not recorded. */
export const withoutLink = (error: PlatformError): PlatformError =>
  isConnectionRequired(error)
    ? new PlatformError('CONNECTION_REQUIRED', { ...error.details, connect_url: null }, { cause: error })
    : error
