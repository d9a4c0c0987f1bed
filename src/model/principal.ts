import type { Statement } from './access-policy.ts'

/** The statements of one access policy, with its id to explain decisions. */
export interface Grant {
  readonly policyId: string
  readonly statements: readonly Statement[]
}

/** The authenticated caller of a request. */
export interface Principal {
  readonly kind: 'api_key' | 'user' | 'oauth'
  readonly id: string
  readonly name: string
  /** The only project this principal can see, or null for all of them. */
  readonly projectId: string | null
  readonly grants: readonly Grant[]
  /** The end user whose connections its calls use; null if it only uses those of the project. */
  readonly endUserId: string | null
  /** The slugs of the modes it can use, the default first. Without any, it gives its calls no mode. */
  readonly modes?: readonly string[]
  /** The mode that the request chose among them, instead of the default. */
  readonly mode?: string | undefined
  /** The modes of agents and sessions that act for the principal. Each of them must also allow a call. */
  readonly within?: readonly string[] | undefined
  /** When the person signed in, in milliseconds. Absent for programs. */
  readonly signedInAt?: number | undefined
  /** The boundaries of agents that act for the principal. Each of them must also allow a request. */
  readonly boundaries?: readonly (readonly Grant[])[]
  /** Requests per minute, or null for the platform's default. */
  readonly rateLimit: number | null
  /** In milliseconds, or null for never. */
  readonly expiresAt: number | null
  /** For an OAuth client: the person or key that it acts for. */
  readonly actsFor?: string
  /** For an OAuth client: what its token is good for. */
  readonly token?: TokenLimits
}

export interface TokenLimits {
  /** The URL of the one endpoint that accepts the token. Absent if its issuer is trusted for a whole project. */
  readonly audience?: string
  /** That endpoint's server; null for the platform's own endpoint, undefined if only the URL is known. */
  readonly serverId?: string | null
  readonly scopes: readonly string[]
}
