import type { Authenticator } from '../../access/authenticator.ts'
import type { Notices } from '../../db/notices.ts'
import type { Principal } from '../../model/principal.ts'

/** The longest that a timer can wait. */
const longestWait = 2 ** 31 - 1

/**
 * Tells once when a principal is gone, or is not allowed something any more. It asks again whenever a thing changes that
 * this may hang on, and when the key expires. Also tells when that cannot be found out.
 */
export function whileAllowed(
  principalId: string,
  { authenticator, notices }: { authenticator: Authenticator; notices: Notices },
  tell: () => void,
  isAllowed: (principal: Principal) => Promise<boolean>,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const look = async () => {
    const principal = await authenticator.principal(principalId)
    const allowed = principal !== undefined && (await isAllowed(principal))
    if (isOver) return
    if (!allowed) return tell()
    clearTimeout(timer)
    const { expiresAt } = principal
    if (expiresAt !== null) timer = setTimeout(ask, Math.min(Math.max(expiresAt - Date.now(), 0), longestWait))
  }
  const ask = () => void look().catch(tell)
  const stops = [
    notices.hear('api_keys', (ids) => {
      if (ids.length === 0 || ids.includes(principalId)) ask()
    }),
    notices.hear('access_policies', ask),
    notices.hear('servers', ask),
  ]
  ask()
  return () => {
    isOver = true
    clearTimeout(timer)
    for (const stop of stops) stop()
  }
}
