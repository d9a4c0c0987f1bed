import { evaluate } from '../access/evaluate.ts'
import { transportOf } from '../model/call.ts'
import type { ConnectionOwner } from '../model/connection.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import { type RequestContext, requireAllowed } from './operation.ts'

type Caller = Pick<RequestContext, 'principal' | 'surface' | 'parentCallId' | 'generation'>

const permission = 'connections:ActAs'

/** Whether an application makes the request for its users. Requests of a model never choose a user. */
export const isBackend = ({ surface, parentCallId, generation }: Omit<Caller, 'principal'>): boolean =>
  ['rest', 'web'].includes(transportOf(surface)) && parentCallId === null && generation === undefined

/** The principal that acts for an end user. Without one, for its own. */
export function actingAs(caller: Caller, endUserId: string | null | undefined, projectId: string | null): Principal {
  const { principal } = caller
  if (endUserId === null || endUserId === undefined || principal.endUserId === endUserId) return principal
  requireActAs(caller, endUserId, projectId)
  return { ...principal, endUserId }
}

function requireActAs(caller: Caller, endUserId: string, projectId: string | null): void {
  const { principal } = caller
  if (!isBackend(caller) || principal.endUserId !== null) {
    const reason =
      principal.endUserId === null
        ? 'Only direct requests over REST can name an end user.'
        : 'This key is for one end user, which cannot be changed.'
    const resource = `qm:${projectId ?? '*'}:end-user:${endUserId}`
    throw new PlatformError('FORBIDDEN', { permission, layer: 'access policy', resource, reason })
  }
  requireAllowed(principal, permission, { projectId, kind: 'end-user', id: endUserId })
}

/** Whether the caller can manage the connections of an owner. */
export function ownsOrActs(caller: Caller, owner: ConnectionOwner, projectId: string): boolean {
  const { principal } = caller
  if (owner.kind === 'user' && owner.id === principal.endUserId) return true
  if (principal.endUserId !== null) return false
  if (owner.kind === 'project') return true
  return (
    isBackend(caller) && evaluate(principal, permission, { projectId, kind: 'end-user', id: String(owner.id) }).allowed
  )
}

/** Throws unless the caller can manage the connections of an owner. */
export function requireOwner(caller: Caller, owner: ConnectionOwner, projectId: string): void {
  if (ownsOrActs(caller, owner, projectId)) return
  if (owner.kind === 'user') {
    requireActAs(caller, String(owner.id), projectId)
    return
  }
  const reason = 'This key is for one end user, and cannot manage the connections of the project.'
  throw new PlatformError('FORBIDDEN', {
    ...{ permission, layer: 'access policy', reason },
    resource: `qm:${projectId}:end-user:*`,
  })
}
