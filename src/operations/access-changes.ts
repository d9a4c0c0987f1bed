import type { Principal } from '../model/principal.ts'
import type { Store } from '../store/store.ts'

/** The longest that a timer can wait. */
const longestWait = 2 ** 31 - 1

/** Tells when a key was changed, revoked or has expired, or one of its policies was: what it opened is to be asked for anew. */
export function whenAccessChanges(
  { id, grants, expiresAt }: Principal,
  { notices }: Store,
  tell: () => void,
): () => void {
  const hear = (topic: 'api_keys' | 'access_policies', own: readonly string[]) =>
    notices.hear(topic, (ids) => {
      if (ids.length === 0 || ids.some((changed) => own.includes(changed))) tell()
    })
  const left = expiresAt === null ? undefined : Math.max(0, Math.min(expiresAt - Date.now(), longestWait))
  const timer = left === undefined ? undefined : setTimeout(tell, left)
  const stops = [
    hear('api_keys', [id]),
    hear(
      'access_policies',
      grants.map(({ policyId }) => policyId),
    ),
  ]
  return () => {
    clearTimeout(timer)
    for (const stop of stops) stop()
  }
}
