import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { apiKeyAuthenticator, combined } from './access/authenticator.ts'
import { DashboardSessions } from './access/dashboard-sessions.ts'
import { ExternalTokens } from './access/external-tokens.ts'
import { firstKeyShown, firstStart } from './access/first-start.ts'
import { Keys } from './access/keys.ts'
import { People } from './access/people.ts'
import { RateLimit } from './access/rate-limit.ts'
import { SignInAttempts } from './access/sign-in-attempts.ts'
import { Tokens, tokenAuthenticator } from './access/tokens.ts'
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
import { actionLookup } from './catalogue/action-lookup.ts'
import { Catalogue } from './catalogue/catalogue.ts'
import { connectedTool, connectedToolsFor } from './catalogue/connected-tools.ts'
import { contactRequired } from './catalogue/required.ts'
import { ServerCatalogues } from './catalogue/server-catalogue.ts'
import type { Config } from './config.ts'
import { type ConnectionParts, createConnections } from './credentials/connections/connections.ts'
import { Credentials } from './credentials/credentials.ts'
import { OauthServerKeys } from './credentials/oauth-server-keys.ts'
import { openVault } from './credentials/open-vault.ts'
import { SecretFiles } from './credentials/secret-files.ts'
import { SingleSignOn } from './credentials/single-sign-on.ts'
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
import { PublicUrl } from './server/public-url.ts'
import { readTarget } from './store/connections.ts'
import { openStore, type Store } from './store/store.ts'
import { connectRoutes } from './surfaces/connect/connect.ts'
import { dashboard, isBuilt } from './surfaces/dashboard/dashboard.ts'
import { signInRoutes } from './surfaces/dashboard/sign-in.ts'
import { singleSignOnRoutes } from './surfaces/dashboard/single-sign-on.ts'
import { McpEndpoints } from './surfaces/mcp/endpoint.ts'
import { ServerRequest } from './surfaces/mcp/server-request.ts'
import { serverTools, toolLists } from './surfaces/mcp/tool-list.ts'
import { challenge, resourceAt, resourcePath } from './surfaces/oauth/resources.ts'
import { oauthRoutes, resourceRoutes } from './surfaces/oauth/routes.ts'
import { signInMethods } from './surfaces/oauth/sign-in.ts'
import { openapi } from './surfaces/rest/openapi.ts'
import { reference } from './surfaces/rest/reference.ts'
import { restRoutes } from './surfaces/rest/rest.ts'
import { createHandler } from './surfaces/routes.ts'
import { Apis } from './tools/openapi/apis.ts'
import { sealStoredTools } from './tools/seal-stored-tools.ts'
import type { ToolDeps, ToolType } from './tools/tool-type.ts'
import { ToolTypes } from './tools/tool-types.ts'
import { publishApproval, publishConnection, publishRun, publishSession } from './webhooks/events.ts'
import { Webhooks } from './webhooks/webhooks.ts'
import { advanceCode } from './workflows/code.ts'
import { WorkflowRunner } from './workflows/runner.ts'

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
  readonly connections: ConnectionParts
  readonly models: Models
  /** Handles one HTTP request. */
  handle(exchange: Exchange): Promise<void>
  /** Tells the platform the URL that it listens on, for links and as the issuer of tokens, unless QM_PUBLIC_URL is set. */
  onListening(url: string): void
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
  await sealStoredTools(store.tools, types, vault, log)
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
  const secretFiles = new SecretFiles({
    folder: config.secretFiles,
    onChange: () => void store.changes.publish('secrets', []).catch(() => {}),
  })
  const publicUrl = new PublicUrl(config)
  const connections = createConnections({
    ...{ store, vault, outbound, jobs },
    publicUrl: () => publicUrl.href,
    publish: (event, connection, key) => publishConnection(event, connection, key, webhooks),
    onConnected: async (projectId) => {
      await runner.connected(projectId)
      await workflows.connected(projectId)
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
  const apis = new Apis(store.apiSnapshots)
  const toolDeps: ToolDeps = {
    outbound,
    upstreams,
    lineage,
    schemas,
    allowStdio: config.allowStdio,
    apis,
    credentials: new Credentials({
      ...{ secrets: store.secrets, vault, connections },
      variables: variablesOf(config.secretVariables),
      files: secretFiles,
    }),
    platformActions,
    perform: (name, input, asker) => perform(name, input, asker, deps),
    actions: actionLookup(store, () => catalogue),
    runWorkflow: (call, workflow) => workflows.call(call, workflow),
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
  const oauthKeys = new OauthServerKeys(store.oauthKeys, vault)
  const apiKeys = apiKeyAuthenticator(new Keys(store), store.changes)
  const people = new People(store)
  const holders = combined([people, apiKeys])
  const issuer = { issuer: () => publicUrl.href, keys: () => oauthKeys.verifying() }
  const external = new ExternalTokens({
    store,
    fetchFor: (project) => outbound.client({ project, credentials: ['trusted issuers'] }).fetch,
    projectAt: async (url) => {
      const server = resourceAt(url, publicUrl)?.server
      return server === undefined ? undefined : (await store.servers.find(server))?.project_id
    },
  })
  const tokens = new Tokens({ store, issuer, holders, external })
  const authenticator = combined([
    ...(config.oauth ? [tokenAuthenticator(tokens, holders, store.changes)] : []),
    people,
    apiKeys,
  ])
  const dispatchDeps: DispatchDeps = {
    catalogue,
    calls: store.calls,
    modes: store.modes,
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
    openLink: (link, callId) => toolDeps.credentials.openLink(link, callId),
    dispatch: (request) => dispatch(request, dispatchDeps),
    conclude: (request, outcome) => conclude(request, outcome, dispatchDeps),
    mayHaveRun: (callId) => coordinator.mayHaveRun(callId),
    modelOf: (run) => modelOf(run, store, models),
    onStart: () => metrics.generationStarted(),
    onEnd: (run) => metrics.generationEnded(run),
    onRest: async (run, result) => {
      await sessionRunner.onRest(run, result)
      await publishRun(run, result, webhooks)
      await workflows.wakeCaller(run.parent_call_id)
    },
  })
  const workflows = new WorkflowRunner({
    ...{ store, jobs, authenticator, log, actions: toolDeps.actions },
    dispatch: (request) => dispatch(request, dispatchDeps),
    conclude: (request, outcome) => conclude(request, outcome, dispatchDeps),
    mayHaveRun: (callId) => coordinator.mayHaveRun(callId),
    advanceCode: advanceCode({
      findServer: (id) => deps.serverCatalogues.findServer(id),
      offers: async (server, action) => {
        const found = await deps.serverCatalogues.findServer(server.id)
        const all = found ? (await deps.serverCatalogues.of(found)).all : []
        return all.some((one) => one.action.id === action || `${one.action.app}:${one.action.name}` === action)
      },
    }),
    resumeGeneration: async (id) => {
      const run = await store.generations.find(id)
      if (run) await runner.resume(run)
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
  const singleSignOn = new SingleSignOn({ store, vault, outbound, authenticator })
  let address: string | undefined
  const linkUrl = () => (config.publicUrl ?? address)?.replace(/\/+$/, '')
  const deps: OperationDeps = {
    store,
    authenticator,
    runner,
    sessionRunner,
    routineRuns,
    closing: closing.signal,
    workflows,
    catalogue,
    serverCatalogues: new ServerCatalogues(store, catalogue),
    resolver: new Resolver(semantic),
    schemas,
    toolDeps,
    toolTypes: types,
    secretSources: { variables: config.secretVariables ?? [], hasFiles: config.secretFiles !== undefined },
    connections,
    operations: operations.byName,
    vault,
    singleSignOn,
    models,
    webhooks,
    permissions,
    version,
    limits: { fileBytes: config.fileLimit },
    dispatch: (request) => dispatch(request, dispatchDeps),
    publicUrl: linkUrl,
    linkToApproval: (id, home) => coordinator.linkTo({ id }, home),
    serverTools: (server, request) => serverTools(new ServerRequest(server, request, deps)),
    toolLists: (server, request) => toolLists(new ServerRequest(server, request, deps)),
  }
  const closeParts = async () => {
    secretFiles.close()
    await jobs.stop()
    await semantic?.close()
    await models.close()
    await upstreams.close()
    await outbound.close()
    await apis.close()
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
  await workflows.work()
  const warm = keepWarm({ ...deps, log })
  const sessions = new DashboardSessions(store, authenticator)
  const signIn = { store, authenticator, attempts: new SignInAttempts() }
  const admit = createAdmit({
    ...{ authenticator, sessions, lineage },
    rateLimit: new RateLimit(config.rateLimit),
    closing: closing.signal,
    onLoopback: config.onLoopback,
    publicUrl: config.publicUrl,
  })
  const { bodyLimit } = config
  const endpoints = new McpEndpoints({
    ...{ deps, admit, authenticator, log, version, bodyLimit },
    ...(config.oauth && { challenge: (server, host, scope) => challenge(server, host, publicUrl, scope) }),
    audienceOf: (slug) => publicUrl.href + resourcePath(slug),
  })
  const authorizationServer = oauthRoutes(
    {
      ...{ store, vault, publicUrl, holders, log, version },
      keys: oauthKeys,
      fetch: outbound.client({ project: undefined, credentials: ['oauth clients'] }).fetch,
      acceptsHost: (host) => config.oauthClientHosts?.includes(host) ?? true,
      allowRegistration: config.oauthRegistration,
      methods: () => signInMethods(signIn),
      providers: () => store.signInProviders.listEnabled(),
      sessions,
      findServer: (reference) => deps.serverCatalogues.findServer(reference),
    },
    new URL('assets/', pages),
  )

  const handle = createHandler({
    rest: restRoutes({ operations: all, deps, admit, metrics, log, bodyLimit, closing: closing.signal }),
    signIn: [
      ...signInRoutes({ sessions, signIn, log, closing: closing.signal, version, permissions }),
      ...singleSignOnRoutes({ sessions, singleSignOn, store, log, publicUrl: linkUrl }),
    ],
    oauth: config.oauth ? [...authorizationServer, ...resourceRoutes(publicUrl)] : [],
    connect: connectRoutes({
      ...{ sessions, authenticator, store, log },
      flows: connections.flows,
      publicUrl: () => publicUrl.href,
    }),
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
  await connections.keeper.start()
  const sweeps = [
    expireApprovals(store, log),
    runHousekeeping({ store, webhooks, keeper: connections.keeper, config }, log),
  ]

  return {
    config,
    log,
    store,
    webhooks,
    vault,
    connections,
    models,
    handle,
    onListening: (url) => {
      address = url
      publicUrl.listeningAt(url)
    },
    fetch: (request, init) => fetchFrom(handle, new Request(request, init)),
    adminKey,
    hasDashboard: isBuilt(pages),
    adminKeyShown: () => firstKeyShown(store),
    applyManifests,
    drain() {
      closing.abort()
      runner.close()
      sessionRunner.close()
      workflows.close()
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
      workflows.close()
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

/** Authorization servers fetch the document, so its URL must be public. */
const documentUrl = (publicUrl: string) =>
  publicUrl.startsWith('https:') ? `${publicUrl}/connect/client-metadata.json` : undefined

/** The environment variables with these names. No other variable can be read as a secret. */
const variablesOf = (names: readonly string[] = []) =>
  Object.fromEntries(names.map((name) => [name, process.env[name]]))
