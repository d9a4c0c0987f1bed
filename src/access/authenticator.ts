import type { ChangeEvents, Topic } from '../db/change-events.ts'
import type { Principal } from '../model/principal.ts'
import type { Keys } from './keys.ts'

/**
 * Authenticates callers, and reports later changes to their access. Every surface, stream, session and agent run uses it
 * for both.
 */
export interface Authenticator {
  /** The principal of a request, from its headers. Throws `UNAUTHENTICATED` if there is none. */
  authenticate(headers: Readonly<Record<string, string | undefined>>): Promise<Principal>
  /**
   * The principal of a session that began at a time. Counts as use. Throws if the principal has expired; undefined if it
   * was removed, or if the session was ended.
   */
  resume(id: string, since: number): Promise<Principal | undefined>
  /** The principal with its current permissions; undefined once it has no access any more. */
  principal(id: string): Promise<Principal | undefined>
  /**
   * Calls the listener whenever the principal's permissions may have changed, and when it expires. The listener then reads
   * the principal again. Returns a function that unsubscribes.
   */
  onChange(principal: Principal, listener: () => void): () => void
}

/** One kind of identity, such as API keys or people. */
export interface IdentitySource extends Authenticator {
  /** Whether principals with this id are its own. */
  owns(id: string): boolean
  /** Whether requests with this bearer token are its own. At most one source accepts a token. */
  accepts?(token: string): boolean
}

/** Asks the source that the token or the id belongs to. The last one gets what no other accepts. */
export function combined(sources: readonly [...IdentitySource[], IdentitySource]): Authenticator {
  const last = sources[sources.length - 1] as IdentitySource
  const ofToken = (token: string | undefined) =>
    (token !== undefined && sources.find((source) => source.accepts?.(token))) || last
  const ofId = (id: string) => sources.find((source) => source.owns(id)) ?? last
  return {
    authenticate: (headers) => ofToken(bearerToken(headers.authorization)).authenticate(headers),
    resume: (id, since) => ofId(id).resume(id, since),
    principal: (id) => ofId(id).principal(id),
    onChange: (principal, listener) => ofId(principal.id).onChange(principal, listener),
  }
}

/** API keys, sent as `Authorization: Bearer sk_…`. */
export const apiKeyAuthenticator = (keys: Keys, changes: ChangeEvents): IdentitySource => ({
  owns: (id) => id.startsWith('key_'),
  accepts: (token) => token.startsWith('sk_'),
  authenticate: ({ authorization }) => keys.authenticate(bearerToken(authorization)),
  resume: (id) => keys.holderOf(id),
  principal: (id) => keys.principal(id),
  onChange: (principal, listener) => onChangeOf('api_keys', principal, changes, listener),
})

/** Calls the listener when the principal, a record of this topic, or one of its policies changes, and when it expires. */
export function onChangeOf(
  topic: Topic,
  { id, grants, expiresAt }: Principal,
  changes: ChangeEvents,
  listener: () => void,
): () => void {
  const about = (own: readonly string[]) => (ids: readonly string[]) => {
    if (ids.length === 0 || ids.some((changed) => own.includes(changed))) listener()
  }
  const stops = [
    changes.subscribe(topic, about([id])),
    changes.subscribe('access_policies', about(grants.map(({ policyId }) => policyId))),
    atTime(expiresAt, listener),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

export const bearerToken = (header: string | undefined): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]

/** The maximum delay of `setTimeout`. */
const maxTimer = 2 ** 31 - 1

function atTime(time: number | null, listener: () => void): () => void {
  if (time === null) return () => {}
  let timer: NodeJS.Timeout
  const wait = () => {
    const left = time - Date.now()
    timer = left > maxTimer ? setTimeout(wait, maxTimer) : setTimeout(listener, Math.max(0, left))
  }
  wait()
  return () => clearTimeout(timer)
}
