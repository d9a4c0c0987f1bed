import type { Principal } from '../model/principal.ts'
import type { Server } from '../model/server.ts'
import { evaluate } from './evaluate.ts'

/** Whether the server accepts this kind of credential at all. */
export const acceptsKind = ({ kind }: Pick<Principal, 'kind'>, { access }: Pick<Server, 'access'>): boolean =>
  access.methods.length === 2 || access.methods.includes(kind === 'oauth' ? 'oauth' : 'api_key')

/** Whether the principal may use the server: by its access policies, and by the server's list of people. */
export function mayUseServer(principal: Principal, server: Server): boolean {
  const { id, project_id: projectId, enabled, access } = server
  if (!enabled || !evaluate(principal, 'servers:UseServer', { projectId, kind: 'server', id }).allowed) return false
  return access.users === null || access.users.includes(principal.actsFor ?? principal.id)
}
