import type { Principal } from '../model/principal.ts'
import type { Keys } from './keys.ts'

/** How callers prove who they are. Every surface, stream and run of an agent asks this and nothing else. */
export interface Authenticator {
  /** The principal that a request's headers prove; throws `UNAUTHENTICATED` if they prove none. */
  authenticate(headers: Readonly<Record<string, string | undefined>>): Promise<Principal>
  /** The same principal later, with what it may do by then; undefined once it has no access any more. */
  principal(id: string): Promise<Principal | undefined>
}

/** API keys, sent as `Authorization: Bearer sk_…`. */
export const apiKeyAuthenticator = (keys: Keys): Authenticator => ({
  authenticate: ({ authorization }) => keys.authenticate(bearerToken(authorization)),
  principal: (id) => keys.principal(id),
})

const bearerToken = (header: string | undefined): string | undefined => /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]
