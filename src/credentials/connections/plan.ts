import type { ConnectionRow } from '../../db/tables.ts'
import { type ConnectionSettings, ConnectionType } from '../../model/connection.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Connections } from '../../store/connections.ts'
import { readTarget } from '../../store/connections.ts'
import { sealedAt } from '../../store/sealed.ts'
import type { Vault } from '../vault.ts'
import { type ConnectedTool, type ConnectionAccess, originsOf } from './access.ts'

/** What somebody connects: an account for a target, of an owner. */
export interface ConnectSubject {
  readonly project_id: string
  readonly target: string
  readonly owner: string
}

/** How it is connected. */
export interface ConnectPlan {
  readonly subject: ConnectSubject
  /** The app of the tools. Well-known apps need no endpoints. */
  readonly app: string
  readonly type: ConnectionType
  readonly settings: ConnectionSettings
  /** The settings that are stored with the connection. Those of the auth config may change later. */
  readonly own: ConnectionSettings
  readonly clientSecret: string | undefined
  /** The secret of our client at an identity provider. */
  readonly idpClientSecret: string | undefined
  /** The connection that is replaced. */
  readonly existing: ConnectionRow | undefined
  /** The origins that the credentials will be sent to. */
  readonly origins: readonly string[]
  /** The MCP server that tells how to authorize. */
  readonly server: string | undefined
}

export interface PlanDeps {
  readonly connections: Connections
  readonly access: ConnectionAccess
  readonly vault: Pick<Vault, 'open'>
  /** The tools that use connections for a target. */
  toolsFor(projectId: string, target: string): Promise<readonly ConnectedTool[]>
}

/** What a caller has chosen. It replaces what is stored. */
export interface GivenPlan {
  readonly type: ConnectionType
  readonly settings: ConnectionSettings
  readonly clientSecret: string | undefined
  readonly idpClientSecret?: string | undefined
}

/** Throws if the project has no tools for the target, or nothing says how to connect it. */
export async function planFor(subject: ConnectSubject, deps: PlanDeps, given?: GivenPlan): Promise<ConnectPlan> {
  const { project_id: projectId, target, owner } = subject
  const tools = (await deps.toolsFor(projectId, target)).filter(({ destination }) => destination)
  const [tool] = tools
  if (!tool) throw invalid(target, 'has no tools that send requests, so there is nothing to connect')
  const existing = await deps.connections.findFor(projectId, target, owner)
  const config = await deps.access.findConfig(projectId, [target, `app/${tool.app}`])
  const servers = [...new Set(tools.flatMap(({ destination: to }) => (to?.discovers ? to.url : [])))]
  const discovered = servers.length > 0 ? 'oauth2_authorization_code' : undefined
  const suggested = tools.find((one) => one.suggested)?.suggested
  const type = given?.type ?? existing?.type ?? config?.type ?? discovered ?? suggested?.type
  if (type === undefined) {
    throw invalid(
      target,
      'has no auth config: create one with POST /auth-configs, or the connection with POST /connections',
    )
  }
  if (servers.length > 1 && type.startsWith('oauth2')) {
    throw invalid(target, 'has several MCP servers, and tokens are issued for one of them: use tool_id')
  }
  const stored = given ?? (existing && openSettings(existing, deps.vault))
  const isPlaced = stored?.settings.header !== undefined || stored?.settings.query !== undefined
  const isSuggested = config === undefined && suggested?.type === type && !isPlaced
  const own = { ...(isSuggested && suggested?.settings), ...stored?.settings }
  const open = (sealed: string | null | undefined, place: string) =>
    sealed == null ? undefined : deps.vault.open(sealed, place)
  const configured = config && open(config.client_secret, sealedAt.authConfig(config.id))
  const configuredIdp = config && open(config.idp_client_secret, sealedAt.identityProviderSecret(config.id))
  return {
    ...{ subject, existing, own, app: tool.app },
    type: ConnectionType.parse(type),
    settings: { ...(config?.type === type && JSON.parse(config.settings)), ...own },
    clientSecret: stored?.clientSecret ?? (own.client_id === undefined ? configured : undefined),
    idpClientSecret: stored?.idpClientSecret ?? (own.idp_client_id === undefined ? configuredIdp : undefined),
    origins: [...new Set(tools.flatMap(originsOf))],
    server: servers[0],
  }
}

function openSettings(row: ConnectionRow, vault: Pick<Vault, 'open'>) {
  const settings: ConnectionSettings = JSON.parse(row.settings)
  const secrets: { client_secret?: string; idp_client_secret?: string } =
    row.secrets === null ? {} : JSON.parse(vault.open(row.secrets, sealedAt.connection(row.id)))
  return {
    settings,
    clientSecret: settings.client_id === undefined ? undefined : secrets.client_secret,
    idpClientSecret: settings.idp_client_id === undefined ? undefined : secrets.idp_client_secret,
  }
}

const invalid = (target: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', {
    errors: [{ path: readTarget(target).tool_id === null ? 'app' : 'tool_id', message }],
  })
