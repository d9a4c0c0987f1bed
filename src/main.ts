import { firstKeyShown, firstStart } from './access/first-start.ts'
import { expireApprovals } from './approvals/expiry.ts'
import { contactRequired } from './catalogue/required.ts'
import { ServerCatalogues } from './catalogue/server-catalogue.ts'
import { type Base, createBase } from './composition/base.ts'
import { createCalls } from './composition/calls.ts'
import { createIdentity } from './composition/identity.ts'
import type { Platform, PlatformOptions } from './composition/platform.ts'
import { createRuns } from './composition/runs.ts'
import { createSurfaces } from './composition/surfaces.ts'
import type { Config } from './config.ts'
import { home, version } from './home.ts'
import { runHousekeeping } from './housekeeping.ts'
import { builtIn, operationsFor } from './operations/index.ts'
import { applyManifestFiles } from './operations/manifest-files.ts'
import type { OperationDeps } from './operations/operation.ts'
import { perform } from './operations/perform.ts'
import { Resolver } from './search/resolver.ts'
import { keepWarm } from './search/warm.ts'
import { fetchFrom } from './server/fetch-exchange.ts'
import { isBuilt } from './surfaces/dashboard/dashboard.ts'
import { ServerRequest } from './surfaces/mcp/server-request.ts'
import { serverTools, toolLists } from './surfaces/mcp/tool-list.ts'
import { ToolTypes } from './tools/tool-types.ts'

export type { Platform, PlatformOptions } from './composition/platform.ts'
export { done } from './model/tool.ts'
export { type FormHints, formHints } from './tools/form-hints.ts'
export { toolTypes } from './tools/index.ts'
export { defineToolType, type ToolType } from './tools/tool-type.ts'
export { version }

const pages = new URL('dashboard/dist/', home)

/** Creates all parts of the platform and connects them. Each file in `composition/` creates a group of parts. */
export async function createPlatform(config: Config, options: PlatformOptions = {}): Promise<Platform> {
  const operations = options.toolTypes ? operationsFor(new ToolTypes(options.toolTypes)) : builtIn
  const base = await createBase(config, operations.types, options)
  const { log, store, models, webhooks, vault, publicUrl } = base
  const adminKey = await firstStart(store, config.adminKey)
  const identity = createIdentity(base)
  const calls = createCalls(base, identity, {
    types: operations.types,
    platformActions: operations.platformActions,
    perform: (name, input, asker) => perform(name, input, asker, deps),
    runs: () => runs,
  })
  const { connections, catalogue, coordinator } = calls
  const serverCatalogues = new ServerCatalogues(store, catalogue)
  const runs = createRuns(base, identity, calls, serverCatalogues)
  const closing = new AbortController()
  let address: string | undefined
  const deps: OperationDeps = {
    ...{ store, models, webhooks, vault, schemas: base.schemas },
    ...{ connections, catalogue, toolDeps: calls.toolDeps, dispatch: calls.dispatch, serverCatalogues },
    ...{ authenticator: identity.authenticator, singleSignOn: identity.singleSignOn },
    ...{ runner: runs.runner, sessionRunner: runs.sessionRunner, routineRuns: runs.routineRuns },
    workflows: runs.workflows,
    signingKeys: identity.oauthKeys,
    closing: closing.signal,
    resolver: new Resolver(base.semantic),
    toolTypes: operations.types,
    operations: operations.byName,
    permissions: operations.permissions,
    secretSources: { variables: config.secretVariables ?? [], hasFiles: config.secretFiles !== undefined },
    version,
    limits: { fileBytes: config.fileLimit },
    publicUrl: () => (config.publicUrl ?? address)?.replace(/\/+$/, ''),
    linkToApproval: (id, home) => coordinator.linkTo({ id }, home),
    serverTools: (server, request) => serverTools(new ServerRequest(server, request, deps)),
    toolLists: (server, request) => toolLists(new ServerRequest(server, request, deps)),
  }
  const closeParts = async () => {
    calls.close()
    await base.close()
  }
  const applyManifests = () => applyManifestFiles(config.manifest, process.env, deps)
  try {
    if (!config.ignoreRequired) await contactRequired(store, catalogue, operations.types)
    await applyManifests()
  } catch (error) {
    await closeParts()
    throw error
  }
  await runs.start()
  const warm = keepWarm({ ...deps, log })
  const { handle, endpoints } = createSurfaces(base, identity, deps, pages)
  const sweeps = [...(await startSweeps(base, deps)), runs.sweep()]

  return {
    ...{ config, log, store, webhooks, vault, connections, models, handle, adminKey, applyManifests },
    onListening: (url) => {
      address = url
      publicUrl.listeningAt(url)
    },
    fetch: (request, init) => fetchFrom(handle, new Request(request, init)),
    hasDashboard: isBuilt(pages),
    adminKeyShown: () => firstKeyShown(store),
    drain() {
      closing.abort()
      runs.close()
      void base.jobs.stop()
      coordinator.close()
      connections.waits.close()
      void endpoints.drain()
    },
    async close() {
      closing.abort()
      coordinator.close()
      connections.waits.close()
      warm.close()
      runs.close()
      await Promise.all(sweeps.map((one) => one.close()))
      await endpoints.close()
      await closeParts()
    },
  }
}

async function startSweeps({ config, log, store, webhooks }: Base, { connections: { keeper } }: OperationDeps) {
  await webhooks.start()
  await keeper.start()
  return [expireApprovals(store, log), runHousekeeping({ store, webhooks, keeper, config }, log)]
}
