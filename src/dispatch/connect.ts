import { connectedTool } from '../catalogue/connected-tools.ts'
import type { Authorization } from '../credentials/connections/authorization.ts'
import { transportOf } from '../model/call.ts'
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
