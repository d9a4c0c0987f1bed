import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { apiKeyAuthenticator, combined } from './access/authenticator.ts'
import { DashboardSessions } from './access/dashboard-sessions.ts'
import { firstKeyShown, firstStart } from './access/first-start.ts'
import { Keys } from './access/keys.ts'
import { RateLimit } from './access/rate-limit.ts'
import { createGuideHooks } from './agents/guide/guide-hooks.ts'
import { modelOf } from './agents/model-of.ts'
import type { Models } from './agents/models/model.ts'
import { createModels } from './agents/models/models.ts'
import { Runner } from './agents/runner.ts'
import { RoutineRuns } from './agents/sessions/routine-runs.ts'
import { SessionRunner } from './agents/sessions/session-runner.ts'
import { createTurnHooks } from './agents/sessions/turn-hooks.ts'
import { ApprovalCoordinator } from './approvals/coordinator.ts'
import { expireApprovals } from './approvals/expiry.ts'
import { Catalogue } from './catalogue/catalogue.ts'
import { contactRequired } from './catalogue/required.ts'
import { ServerCatalogues } from './catalogue/server-catalogue.ts'
import type { Config } from './config.ts'
import { Credentials } from './credentials/credentials.ts'
import { openVault } from './credentials/open-vault.ts'
import type { Vault } from './credentials/vault.ts'
import { conclude } from './dispatch/conclude.ts'
import type { DispatchDeps } from './dispatch/deps.ts'
import { dispatch } from './dispatch/dispatch.ts'
import { home, version } from './home.ts'
import { runHousekeeping } from './housekeeping.ts'
import { Lineage } from './http/lineage.ts'
import { Outbound } from './http/outbound.ts'
import { openJobs } from './jobs/open-jobs.ts'
import { Schemas } from './json-schema/schema.ts'
import { createLog } from './log.ts'
import { Upstreams } from './mcp/client/upstreams.ts'
import { builtIn, operationsFor } from './operations/index.ts'
import { applyManifestFiles } from './operations/manifest-files.ts'
import type { OperationDeps } from './operations/operation.ts'
import { perform } from './operations/perform.ts'
import { EmbeddedModel } from './search/embedded.ts'
import { RemoteModel } from './search/remote.ts'
import { Resolver } from './search/resolver.ts'
import { SemanticIndex } from './search/semantic-index.ts'
import { keepWarm } from './search/warm.ts'
import { createAdmit } from './server/admit.ts'
import type { Exchange } from './server/exchange.ts'
import { fetchFrom } from './server/fetch-exchange.ts'
import { Metrics } from './server/metrics.ts'
import { openStore, type Store } from './store/store.ts'
import { dashboard, isBuilt } from './surfaces/dashboard/dashboard.ts'
import { signInRoutes } from './surfaces/dashboard/sign-in.ts'
import { McpEndpoints } from './surfaces/mcp/endpoint.ts'
import { ServerRequest } from './surfaces/mcp/server-request.ts'
import { toolLists } from './surfaces/mcp/tool-list.ts'
import { openapi } from './surfaces/rest/openapi.ts'
import { reference } from './surfaces/rest/reference.ts'
import { restRoutes } from './surfaces/rest/rest.ts'
import { createHandler } from './surfaces/routes.ts'
import type { ToolDeps, ToolType } from './tools/tool-type.ts'
import { ToolTypes } from './tools/tool-types.ts'
import { publishApproval, publishRun, publishSession } from './webhooks/events.ts'
import { Webhooks } from './webhooks/webhooks.ts'

export { done } from './model/tool.ts'
export { type FormHints, formHints } from './tools/form-hints.ts'
export { toolTypes } from './tools/index.ts'
export { defineToolType, type ToolType } from './tools/tool-type.ts'
export { version }

export interface Platform {
  readonly config: Config
  readonly log: Logger
  readonly store: Store
  readonly webhooks: Webhooks
  readonly vault: Vault
  readonly models: Models
  /** Handles one HTTP request. */
  handle(exchange: Exchange): Promise<void>
  /** Handles a request without a port, for programs that embed the platform. */
  fetch(request: Request | URL | string, init?: RequestInit): Promise<Response>
  /** The first admin key, if this start generated it. */
  readonly adminKey: string | undefined
  readonly hasDashboard: boolean
  /** Call this once the key has been shown. Until then, each start generates a new one. */
  adminKeyShown(): Promise<void>
  /** Reads the manifest files again and applies them. Returns the names of their agents. */
  applyManifests(): Promise<string[]>
  /** Stops accepting new work. Work in progress continues. */
  drain(): void
  close(): Promise<void>
}

export interface PlatformOptions {
  /** Receives warnings about the search, for the operator. By default, they are logged. */
  readonly warn?: (text: string) => void
  /** The available tool types. By default, those of Quartermaster. Add your own with `[...toolTypes, mine]`. */
  readonly toolTypes?: readonly ToolType[]
  /** Replaces the language models, for tests of agents. */
  readonly models?: () => Models
}

const pages = new URL('dashboard/dist/', home)

/** Creates all parts of the platform and connects them. */
export async function createPlatform(
  config: Config,
  { warn, toolTypes, models: replaced }: PlatformOptions = {},
): Promise<Platform> {
  const operations = toolTypes ? operationsFor(new ToolTypes(toolTypes)) : builtIn
  const { types, permissions, platformActions } = operations
  const all = [...operations.byName.values()]
  const log = createLog(config.logLevel)
  const outbound = new Outbound({
    allowLoopback: config.onLoopback,
    allow: config.egressAllow,
    maxResponseBytes: config.responseLimit,
    proxy: { http: config.httpProxy, https: config.httpsProxy, except: config.noProxy },
  })
  const store = await openStore(config)
  const adminKey = await firstStart(store, config.adminKey)
  const jobs = await openJobs(store, {
    onError: (err, job) => log.warn({ err, ...job }, job.id ? 'job failed, it will be retried' : 'job queue error'),
  }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  const vault = await openVault(config, store, log)
  const models =
    replaced?.() ??
    createModels({
      outbound,
      vault,
      recordings: store.aiProviders,
      onFault: (err) => log.warn({ err }, 'could not record a model response'),
    })
  const closing = new AbortController()
  const metrics = new Metrics()
  const webhooks = new Webhooks({
    store: store.webhooks,
    jobs,
    outbound,
    seal: vault,
    onEnd: (status, count) => metrics.deliveriesEnded(status, count),
  })
  store.approvals.onVerdict((verdict) => metrics.approvalEnded(verdict))
  metrics.watchWaiting({
    approvals: () => store.approvals.countPending(),
    deliveries: () => store.webhooks.countPending(),
  })
  const schemas = new Schemas()
  const upstreams = new Upstreams(outbound, log)
  metrics.watchUpstreams(() => upstreams.states())
  store.changes.subscribe('tools', (ids) => upstreams.release(ids))
  const lineage = new Lineage(
    await store.settings.establish('lineage_key', () => randomBytes(32).toString('base64url')),
  )
  const toolDeps: ToolDeps = {
    outbound,
    upstreams,
    lineage,
    schemas,
    allowStdio: config.allowStdio,
    credentials: new Credentials({ secrets: store.secrets, vault, variables: variablesOf(config.secretVariables) }),
    platformActions,
    perform: (name, input, asker) => perform(name, input, asker, deps),
  }
  const catalogue = new Catalogue(store, toolDeps, types)
  const semantic = semanticIndexOf(config, { store, outbound, log, ...(warn && { warn }) })
  const coordinator = new ApprovalCoordinator(store, {
    defaultSeconds: config.approvalSeconds,
    maxPending: config.pendingApprovals,
    publicUrl: config.publicUrl,
    onRequested: (approval) =>
      void publishApproval(approval, webhooks).catch((err: unknown) =>
        log.warn({ err }, 'could not send the webhook event of an approval'),
      ),
  })
  const authenticator = combined([apiKeyAuthenticator(new Keys(store), store.changes)])
  const dispatchDeps: DispatchDeps = {
    catalogue,
    calls: store.calls,
    tools: toolDeps,
    coordinator,
    authenticator,
    onEnd: (call) => metrics.callEnded(call),
  }
  const guide = createGuideHooks({ store, schemas, models })
  const runner = new Runner({
    ...{ store, jobs, catalogue, authenticator, log },
    turns: createTurnHooks(store, guide),
    outputMs: config.outputSeconds * 1000,
    dispatch: (request) => dispatch(request, dispatchDeps),
    conclude: (request, outcome) => conclude(request, outcome, dispatchDeps),
    mayHaveRun: (callId) => coordinator.mayHaveRun(callId),
    modelOf: (run) => modelOf(run, store, models),
    onStart: () => metrics.generationStarted(),
    onEnd: (run) => metrics.generationEnded(run),
    onRest: async (run, result) => {
      await sessionRunner.onRest(run, result)
      await publishRun(run, result, webhooks)
    },
  })
  const sessionRunner = new SessionRunner({
    ...{ store, runner, log },
    stateAfter: (run, session) => guide.stateAfter(run, session),
    publish: (session, events) => publishSession(session, events, webhooks),
    onTurnEnd: (run, session) => routineRuns.onTurnEnd(run, session),
  })
  const routineRuns = new RoutineRuns({ store, jobs, outbound, runner, sessionRunner })
  metrics.watchGenerations(() => runner.running)
  const deps: OperationDeps = {
    store,
    authenticator,
    runner,
    sessionRunner,
    routineRuns,
    closing: closing.signal,
    catalogue,
    serverCatalogues: new ServerCatalogues(store, catalogue),
    resolver: new Resolver(semantic),
    schemas,
    toolDeps,
    toolTypes: types,
    secretVariables: config.secretVariables ?? [],
    operations: operations.byName,
    vault,
    models,
    webhooks,
    permissions,
    version,
    limits: { fileBytes: config.fileLimit },
    dispatch: (request) => dispatch(request, dispatchDeps),
    linkToApproval: (id, home) => coordinator.linkTo({ id }, home),
    toolLists: (server, request) => toolLists(new ServerRequest(server, request, deps)),
  }
  const closeParts = async () => {
    await jobs.stop()
    await semantic?.close()
    await models.close()
    await upstreams.close()
    await outbound.close()
    await schemas.close()
    await store.close()
  }
  if (!config.ignoreRequired) {
    await contactRequired(store, catalogue, types).catch(async (error: unknown) => {
      await closeParts()
      throw error
    })
  }
  const applyManifests = () => applyManifestFiles(config.manifest, process.env, deps)
  await applyManifests().catch(async (error: unknown) => {
    await closeParts()
    throw error
  })
  await runner.work()
  await routineRuns.work()
  void sessionRunner.sweep()
  const warm = keepWarm({ ...deps, log })
  const sessions = new DashboardSessions(store, authenticator)
  const admit = createAdmit({
    ...{ authenticator, sessions, lineage },
    rateLimit: new RateLimit(config.rateLimit),
    closing: closing.signal,
    onLoopback: config.onLoopback,
  })
  const { bodyLimit } = config
  const endpoints = new McpEndpoints({ deps, admit, authenticator, log, version, bodyLimit })
  const handle = createHandler({
    rest: restRoutes({ operations: all, deps, admit, metrics, log, bodyLimit, closing: closing.signal }),
    signIn: signInRoutes({ sessions, log, closing: closing.signal, version }),
    mcp: (exchange, server) => endpoints.handle(exchange, server),
    dashboard: dashboard(pages),
    openapi: once(() => JSON.stringify(openapi(all, permissions, version))),
    reference: once(() => reference(all, version)),
    metrics,
    log,
    searchState: () => deps.resolver.state,
    fault: async () => (closing.signal.aborted ? 'The platform is shutting down.' : store.writeProbe.fault()),
  })

  await webhooks.start()
  const sweeps = [expireApprovals(store, log), runHousekeeping({ store, webhooks, config }, log)]

  return {
    config,
    log,
    store,
    webhooks,
    vault,
    models,
    handle,
    fetch: (request, init) => fetchFrom(handle, new Request(request, init)),
    adminKey,
    hasDashboard: isBuilt(pages),
    adminKeyShown: () => firstKeyShown(store),
    applyManifests,
    drain() {
      closing.abort()
      runner.close()
      sessionRunner.close()
      void jobs.stop()
      coordinator.close()
      void endpoints.drain()
    },
    async close() {
      closing.abort()
      coordinator.close()
      warm.close()
      runner.close()
      sessionRunner.close()
      await Promise.all(sweeps.map((one) => one.close()))
      await endpoints.close()
      await closeParts()
    },
  }
}

/** Computes a value on first use, because few need it and it would slow down the start. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** The index to search actions by meaning; undefined if embeddings are off. */
function semanticIndexOf(
  config: Config,
  { store, outbound, log, warn }: { store: Store; outbound: Outbound; log: Logger } & PlatformOptions,
): SemanticIndex | undefined {
  const { embeddings, embeddingsUrl: url, embeddingsModel: model, embeddingsKey: key, embeddingsFolder } = config
  if (embeddings === 'off' && url === undefined) return undefined
  const embedder =
    url === undefined ? new EmbeddedModel(embeddingsFolder) : new RemoteModel({ url, model, key }, outbound)
  const semantic = new SemanticIndex(embedder, store, (text) =>
    warn && log.isLevelEnabled('warn') ? warn(text) : log.warn({ model: embedder.model }, text),
  )
  void semantic.check()
  return semantic
}

/** The environment variables with these names. No other variable can be read as a secret. */
const variablesOf = (names: readonly string[] = []) =>
  Object.fromEntries(names.map((name) => [name, process.env[name]]))
