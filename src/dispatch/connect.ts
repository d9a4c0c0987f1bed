import { connectedTool } from '../catalogue/connected-tools.ts'
import type { Authorization } from '../credentials/connections/authorization.ts'
import { transportOf } from '../model/call.ts'
import { isConnectionRequired } from '../model/connection-required.ts'
import type { ConnectionWait } from '../model/outcome.ts'
import type { CallRequest, ValidCall } from './call.ts'
import type { DispatchDeps } from './deps.ts'

/** The connection that the call uses: its principal decides. Throws if its user must connect first. */
export const authorizationFor = (
  { entry, principal }: ValidCall,
  { tools: { credentials } }: DispatchDeps,
): Authorization | undefined | Promise<Authorization | undefined> =>
  credentials.authorize(connectedTool(entry.tool, entry.type, entry.filled.config), principal.endUserId)

/** Adds a link for the caller to an error that asks for a connection. */
export const withLink = (
  error: unknown,
  { toolId, principal, surface, generation, parentCallId }: CallRequest,
  { tools: { credentials } }: Pick<DispatchDeps, 'tools'>,
): unknown | Promise<unknown> =>
  credentials.withLink(error, {
    toolId,
    principal,
    // An application that calls for its user vouches for them. A model cannot.
    isBackend: transportOf(surface) === 'rest' && generation === undefined && parentCallId === null,
  })

/** What the call waits for, if it needs an account and there is a link to connect it. */
export async function connectionWait(
  error: unknown,
  { id }: CallRequest,
  { tools: { credentials } }: Pick<DispatchDeps, 'tools'>,
): Promise<ConnectionWait | undefined> {
  if (!isConnectionRequired(error)) return undefined
  const { app, reason, connect_url, expires_at } = error.details
  if (connect_url === null || expires_at === null) return undefined
  const link = await credentials.sealLink(connect_url, id)
  return { kind: 'connection', app, reason, link, expiresAt: Date.parse(expires_at) }
}
