import type { DashboardSessions } from '../../access/dashboard-sessions.ts'
import { evaluate } from '../../access/evaluate.ts'
import type { ConnectLinkRow } from '../../db/tables.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Principal } from '../../model/principal.ts'
import { sessionTokenOf } from '../../server/browser-session.ts'
import type { Exchange } from '../../server/exchange.ts'
import { readOwner } from '../../store/connections.ts'

/** Whether the link itself says who its user is: an application has made it, and vouches for that. */
const isVouchedFor = ({ minted_by, verified }: ConnectLinkRow): boolean => minted_by === 'backend' || verified === 1

/**
 * Throws unless the person is the one that the link was made for. The cookie of the dashboard is SameSite=Strict, so it
 * is there when the form of our own page is sent, but not when the link is opened from elsewhere.
 */
export async function requireOpener(
  link: ConnectLinkRow,
  exchange: Exchange,
  sessions: DashboardSessions,
): Promise<void> {
  if (isVouchedFor(link)) return
  const token = sessionTokenOf(exchange)
  const signedIn = token === undefined ? undefined : await sessions.authenticate(token).catch(() => undefined)
  if (!signedIn) throw new PlatformError('CONNECT_WRONG_PERSON', { signed_in: false })
  if (!isOpener(link, signedIn.principal)) throw new PlatformError('CONNECT_WRONG_PERSON', { signed_in: true })
}

function isOpener({ owner, project_id: projectId, principal_id }: ConnectLinkRow, principal: Principal): boolean {
  if (principal.projectId !== null && principal.projectId !== projectId) return false
  const { kind, id } = readOwner(owner)
  if (kind === 'user') return principal.endUserId === id
  if (principal.endUserId !== null) return false
  // The project's connection: the caller who made the call, or one who can manage connections.
  const resource = { projectId, kind: 'connection', id: '*' }
  return principal.id === principal_id || evaluate(principal, 'connections:CreateConnection', resource).allowed
}
