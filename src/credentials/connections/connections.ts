import type { Outbound } from '../../http/outbound.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { Store } from '../../store/store.ts'
import type { TraceStep } from '../oauth/types.ts'
import type { Vault } from '../vault.ts'
import { type ConnectedTool, ConnectionAccess } from './access.ts'
import { diagnose } from './diagnose.ts'
import { ConnectionEvents } from './events.ts'
import { ConnectFlows } from './flows.ts'
import { ConnectionKeeper } from './keeper.ts'
import { OAuthSetup } from './oauth-setup.ts'
import type { ConnectPlan } from './plan.ts'
import { TokenRefresh } from './refresh.ts'
import { RequiredLinks } from './required-links.ts'
import { ConnectionWaits } from './waits.ts'

export interface ConnectionsDeps {
  readonly store: Store
  readonly vault: Vault
  readonly outbound: Pick<Outbound, 'client'>
  readonly jobs: Jobs
  readonly publish: ConstructorParameters<typeof ConnectionEvents>[0]
  publicUrl(): string
  onConnected(projectId: string): Promise<void>
  clientMetadataUrl(): string | undefined
  toolsFor(projectId: string, target: string): Promise<readonly ConnectedTool[]>
  findTool(id: string): Promise<ConnectedTool | undefined>
}

/** The parts that deal with connections. */
export interface ConnectionParts {
  readonly access: ConnectionAccess
  readonly keeper: ConnectionKeeper
  readonly flows: ConnectFlows
  readonly links: RequiredLinks
  readonly waits: ConnectionWaits
  /** Tries each step of connecting an account and using it. */
  diagnose(plan: ConnectPlan): Promise<readonly TraceStep[]>
}

export function createConnections(deps: ConnectionsDeps): ConnectionParts {
  const { store, vault, outbound, jobs, publicUrl, toolsFor, findTool } = deps
  const { connections, authConfigs, oauthClients, connectLinks, changes } = store
  const events = new ConnectionEvents(deps.publish)
  const setup = new OAuthSetup({ oauthClients, outbound, vault, publicUrl, clientMetadataUrl: deps.clientMetadataUrl })
  const refresh = new TokenRefresh({
    ...{ connections, changes, vault, outbound, events },
    replaceClient: (...request) => setup.replaceClient(...request),
  })
  const access = new ConnectionAccess({ connections, authConfigs, changes, vault, refresh, events })
  const keeper = new ConnectionKeeper({
    connections,
    vault,
    events,
    refresh,
    setup,
    jobs,
    onConnected: deps.onConnected,
  })
  const flows = new ConnectFlows({
    connections,
    access,
    vault,
    toolsFor,
    links: connectLinks,
    keeper,
    setup,
    publicUrl,
  })
  const links = new RequiredLinks({ access, flows, findTool })
  return {
    ...{ access, keeper, flows, links },
    waits: new ConnectionWaits(connections, changes),
    diagnose: (plan) => diagnose(plan, { setup, refresh, vault, outbound }),
  }
}
