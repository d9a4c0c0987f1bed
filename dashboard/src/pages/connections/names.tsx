import type { Connection, ConnectionStatus, ConnectionType } from '../../api.ts'
import { useTools } from '../../queries.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'

export const typeNames: Readonly<Record<ConnectionType, string>> = {
  api_key: 'API key',
  bearer: 'Bearer token',
  basic: 'User name and password',
  oauth2_authorization_code: 'OAuth sign-in',
  oauth2_client_credentials: 'OAuth client credentials',
  oauth2_token_exchange: 'Token exchange',
  oauth2_enterprise_managed: 'Enterprise-managed authorization',
}

/** Whether a person connects it on a page. */
export const hasPage = (type: ConnectionType): boolean =>
  !type.startsWith('oauth2') || type === 'oauth2_authorization_code'

const statuses: Readonly<Record<ConnectionStatus, readonly [Tone, string]>> = {
  active: ['good', 'active'],
  expiring: ['warn', 'expiring'],
  reauth_required: ['bad', 'reconnect'],
  revoked: ['plain', 'revoked'],
}
export const statusOptions = Object.entries(statuses).map(([status, [, name]]) => [status, name] as const)

export const ConnectionBadge = ({ status }: { status: ConnectionStatus }) => (
  <Badge tone={statuses[status][0]}>{statuses[status][1]}</Badge>
)

/** Whether calls can use it. */
export const isUsable = ({ status }: Connection): boolean => status === 'active' || status === 'expiring'

export const ownerName = ({ owner }: Connection): string => owner.id ?? 'project'

/** Names what a connection is for: an app, or one tool. */
export function useTargetName(): (target: { app: string | null; tool_id: string | null }) => string {
  const { data: tools = [] } = useTools()
  return ({ app, tool_id }) => app ?? tools.find(({ id }) => id === tool_id)?.name ?? tool_id ?? ''
}
