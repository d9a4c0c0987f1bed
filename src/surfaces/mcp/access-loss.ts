import { isDeepStrictEqual } from 'node:util'
import type { Authenticator } from '../../access/authenticator.ts'
import type { ChangeEvents } from '../../db/change-events.ts'
import type { Principal } from '../../model/principal.ts'

/**
 * Calls `onLoss` once the principal is deleted or loses a permission. Checks whenever the principal or a server
 * changes. A failed check counts as a loss.
 */
export function whileAllowed(
  principalId: string,
  { authenticator, changes }: { authenticator: Authenticator; changes: ChangeEvents },
  onLoss: () => void,
  isAllowed: (principal: Principal) => Promise<boolean>,
): () => void {
  let isOver = false
  let unsubscribe = () => {}
  const check = async () => {
    const principal = await authenticator.principal(principalId)
    const allowed = principal !== undefined && (await isAllowed(principal))
    if (isOver) return
    if (!allowed) return onLoss()
    unsubscribe()
    unsubscribe = authenticator.onChange(principal, start)
    // The principal may have changed between the check and the subscription.
    if (!isDeepStrictEqual(await authenticator.principal(principalId), principal)) start()
  }
  const start = () => void check().catch(onLoss)
  const stopServers = changes.subscribe('servers', start)
  start()
  return () => {
    isOver = true
    unsubscribe()
    stopServers()
  }
}
