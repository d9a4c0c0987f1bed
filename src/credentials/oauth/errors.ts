export interface OAuthFailure {
  /** The host of the server that failed or was refused. */
  readonly host: string
  /** The `error` of the response (`invalid_grant` …), or a code of this module (`issuer_mismatch` …). */
  readonly code: string
  readonly status?: number | undefined
  readonly cause?: unknown
}

/** The message says what failed, at which host, and what to do. It never contains a token, code, verifier or secret. */
export abstract class OAuthError extends Error {
  abstract readonly kind: 'terminal' | 'invalid_client' | 'transient' | 'misconfigured'
  readonly host: string
  readonly code: string
  readonly status: number | undefined

  constructor(message: string, { host, code, status, cause }: OAuthFailure) {
    super(message, { cause })
    this.name = new.target.name
    this.host = host
    this.code = code
    this.status = status
  }
}

/** The user or the server refused: `invalid_grant`, `access_denied` … Only a new authorization helps. */
export class GrantRejected extends OAuthError {
  override readonly kind = 'terminal'
}

/** The server does not know our client (any more). Register again, once, if the registration was dynamic. */
export class ClientRejected extends OAuthError {
  override readonly kind = 'invalid_client'
}

/** 5xx, 429, network failure or timeout. Keep the tokens and try again later. */
export class TemporaryFailure extends OAuthError {
  override readonly kind = 'transient'
  /** How long the server asks to wait. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, failure: OAuthFailure & { readonly retryAfterMs?: number | undefined }) {
    super(message, failure)
    this.retryAfterMs = failure.retryAfterMs
  }
}

/** Metadata, policy or settings are wrong. Trying again does not help; an operator has to change something. */
export class Misconfigured extends OAuthError {
  override readonly kind = 'misconfigured'
}
