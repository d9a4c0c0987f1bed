import type { Runner } from '../agents/runner.ts'
import { ApprovalCoordinator } from '../approvals/coordinator.ts'
import { actionLookup } from '../catalogue/action-lookup.ts'
import { Catalogue } from '../catalogue/catalogue.ts'
import { connectedTool, connectedToolsFor } from '../catalogue/connected-tools.ts'
import { createConnections } from '../credentials/connections/connections.ts'
import { Credentials } from '../credentials/credentials.ts'
import { SecretFiles } from '../credentials/secret-files.ts'
import { conclude } from '../dispatch/conclude.ts'
import type { DispatchDeps } from '../dispatch/deps.ts'
import { dispatch } from '../dispatch/dispatch.ts'
import { readTarget } from '../store/connections.ts'
import type { ToolDeps } from '../tools/tool-type.ts'
import type { ToolTypes } from '../tools/tool-types.ts'
import { publishApproval, publishConnection } from '../webhooks/events.ts'
import type { WorkflowRunner } from '../workflows/runner.ts'
import type { Base } from './base.ts'
import type { Identity } from './identity.ts'

export type Calls = ReturnType<typeof createCalls>

export interface CallsDeps extends Pick<ToolDeps, 'platformActions' | 'perform'> {
  readonly types: ToolTypes
  /** What waits for a call or an account. Created later, because it makes calls itself. */
  runs(): { readonly runner: Runner; readonly workflows: WorkflowRunner }
}

/** What a tool call needs: the tools, their credentials and connections, approvals, and dispatch. */
export function createCalls(base: Base, { authenticator }: Identity, { types, runs, ...operations }: CallsDeps) {
  const { config, log, store, outbound, vault, jobs, webhooks, metrics, publicUrl } = base
  const secretFiles = new SecretFiles({
    folder: config.secretFiles,
    onChange: () => void store.changes.publish('secrets', []).catch(() => {}),
  })
  const connections = createConnections({
    ...{ store, vault, outbound, jobs },
    publicUrl: () => publicUrl.href,
    publish: (event, connection, key) => publishConnection(event, connection, key, webhooks),
    onConnected: async (projectId) => {
      await runs().runner.connected(projectId)
      await runs().workflows.connected(projectId)
    },
    clientMetadataUrl: () => config.clientMetadataUrl ?? documentUrl(publicUrl.href),
    toolsFor: (projectId, target) =>
      connectedToolsFor(projectId, readTarget(target), {
        ...{ store, types, open: (tool) => catalogue.open(tool), needsOf: (tool) => catalogue.needsOf(tool) },
      }),
    findTool: async (id) => {
      const tool = await store.tools.find(id)
      return tool && connectedTool(tool, types.of(tool))
    },
  })
  const toolDeps: ToolDeps = {
    ...{ outbound, upstreams: base.upstreams, lineage: base.lineage, schemas: base.schemas, apis: base.apis },
    allowStdio: config.allowStdio,
    credentials: new Credentials({
      ...{ secrets: store.secrets, vault, connections },
      variables: variablesOf(config.secretVariables),
      files: secretFiles,
    }),
    ...operations,
    actions: actionLookup(store, () => catalogue),
    runWorkflow: (call, workflow) => runs().workflows.call(call, workflow),
  }
  const catalogue = new Catalogue(store, toolDeps, types)
  const coordinator = new ApprovalCoordinator(store, {
    defaultSeconds: config.approvalSeconds,
    maxPending: config.pendingApprovals,
    publicUrl: config.publicUrl,
    onRequested: (approval) =>
      void publishApproval(approval, webhooks).catch((err: unknown) =>
        log.warn({ err }, 'could not send the webhook event of an approval'),
      ),
  })
  const deps: DispatchDeps = {
    ...{ catalogue, coordinator, authenticator },
    calls: store.calls,
    modes: store.modes,
    tools: toolDeps,
    onEnd: (call) => metrics.callEnded(call),
  }
  return {
    ...{ connections, toolDeps, catalogue, coordinator },
    dispatch: (request: Parameters<typeof dispatch>[0]) => dispatch(request, deps),
    conclude: (request: Parameters<typeof conclude>[0], outcome: Parameters<typeof conclude>[1]) =>
      conclude(request, outcome, deps),
    close: () => secretFiles.close(),
  }
}

/** Authorization servers fetch the document, so its URL must be public. */
const documentUrl = (publicUrl: string) =>
  publicUrl.startsWith('https:') ? `${publicUrl}/connect/client-metadata.json` : undefined

/** The environment variables with these names. No other variable can be read as a secret. */
const variablesOf = (names: readonly string[] = []) =>
  Object.fromEntries(names.map((name) => [name, process.env[name]]))
