import type { Statement } from './access-policy.ts'

/** One access policy's rules, with the id that a decision is explained by. */
export interface Grant {
  readonly policyId: string
  readonly statements: readonly Statement[]
}

/** Who asks. */
export interface Principal {
  readonly kind: 'api_key'
  readonly id: string
  readonly name: string
  /** The only project this principal can see, or null for all of them. */
  readonly projectId: string | null
  readonly grants: readonly Grant[]
  /** What agents that act for it may do at most: each of these must allow a thing, too. */
  readonly boundaries?: readonly (readonly Grant[])[]
  /** Requests a minute, or null for the platform's default. */
  readonly rateLimit: number | null
  /** In milliseconds, or null for never. */
  readonly expiresAt: number | null
}
