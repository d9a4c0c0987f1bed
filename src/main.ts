import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { apiKeyAuthenticator } from './access/authenticator.ts'
import { firstKeyShown, firstStart } from './access/first-start.ts'
import { Keys } from './access/keys.ts'
import { RateLimit } from './access/rate-limit.ts'
import { Sessions } from './access/sessions.ts'
import { modelOf } from './agents/model-of.ts'
import type { Models } from './agents/models/model.ts'
import { createModels } from './agents/models/models.ts'
import { Runner } from './agents/runner.ts'
import { Desk } from './approvals/desk.ts'
import { sweepApprovals } from './approvals/sweep.ts'
import { Catalogue } from './catalogue/catalogue.ts'
import { contactRequired } from './catalogue/required.ts'
import { Shelves } from './catalogue/shelf.ts'
import type { Config } from './config.ts'
import { openVault } from './credentials/open-vault.ts'
import type { Vault } from './credentials/vault.ts'
import { conclude } from './dispatch/conclude.ts'
import { dispatch } from './dispatch/dispatch.ts'
import type { Host } from './dispatch/host.ts'
import { home, version } from './home.ts'
import { Lineage } from './http/lineage.ts'
import { Outbound } from './http/outbound.ts'
import { openJobs } from './jobs/open-jobs.ts'
import { Schemas } from './json-schema/schema.ts'
import { createLog } from './log.ts'
import { Upstreams } from './mcp/client/upstreams.ts'
import { operations, permissions, platformActions } from './operations/index.ts'
import type { Parts } from './operations/operation.ts'
import { perform } from './operations/perform.ts'
import { EmbeddedModel } from './search/embedded.ts'
import { Meanings } from './search/meanings.ts'
import { RemoteModel } from './search/remote.ts'
import { Resolver } from './search/resolver.ts'
import { keepWarm } from './search/warm.ts'
import { createAdmit } from './server/admit.ts'
import type { Exchange } from './server/exchange.ts'
import { fetchFrom } from './server/fetch-exchange.ts'
import { Metrics } from './server/metrics.ts'
import { openStore, type Store } from './store/store.ts'
import { dashboard, isBuilt } from './surfaces/dashboard/dashboard.ts'
import { signInRoutes } from './surfaces/dashboard/sign-in.ts'
import { McpEndpoints } from './surfaces/mcp/endpoint.ts'
import { toolLists } from './surfaces/mcp/tool-list.ts'
import { Visit } from './surfaces/mcp/visit.ts'
import { openapi } from './surfaces/rest/openapi.ts'
import { reference } from './surfaces/rest/reference.ts'
import { restRoutes } from './surfaces/rest/rest.ts'
import { createHandler } from './surfaces/routes.ts'
import { sweepHourly } from './sweep.ts'
import type { Reach } from './tools/tool-type.ts'
import { tellOfApproval, tellOfRun } from './webhooks/news.ts'
import { Webhooks } from './webhooks/webhooks.ts'

export { version }

export interface Platform {
  readonly config: Config
  readonly log: Logger
  readonly store: Store
  readonly webhooks: Webhooks
  readonly vault: Vault
  readonly models: Models
  /** Answers one HTTP request. */
  handle(exchange: Exchange): Promise<void>
  /** The same without a port, for programs that embed the platform. */
  fetch(request: Request | URL | string, init?: RequestInit): Promise<Response>
  /** The first admin key, if this start made it. */
  readonly adminKey: string | undefined
  readonly hasDashboard: boolean
  /** Somebody has seen it. A start before that makes another, since nobody has this one. */
  adminKeyShown(): Promise<void>
  /** Takes no new work; what is under way goes on. */
  drain(): void
  close(): Promise<void>
}

export interface PlatformOptions {
  /** Takes what an operator should know of the search, in a sentence; without it, that goes to the log. */
  readonly warn?: (text: string) => void
}

const pages = new URL('dashboard/dist/', home)

/** Puts the parts together: the one place that knows all of them. */
export async function createPlatform(config: Config, { warn }: PlatformOptions = {}): Promise<Platform> {
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
  const models = createModels({
    outbound,
    vault,
    recordings: store.aiProviders,
    onFault: (err) => log.warn({ err }, 'could not record the answer of a model'),
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
  store.notices.hear('tools', (ids) => upstreams.release(ids))
  const lineage = new Lineage(
    await store.settings.establish('lineage_key', () => randomBytes(32).toString('base64url')),
  )
  const reach: Reach = {
    outbound,
    upstreams,
    lineage,
    allowStdio: config.allowStdio,
    findSecret: () => () => undefined,
    platformActions,
    perform: (name, input, asker) => perform(name, input, asker, parts),
  }
  const catalogue = new Catalogue(store, reach, schemas)
  const meanings = meaningsOf(config, { store, outbound, log, ...(warn && { warn }) })
  const desk = new Desk(store, {
    seconds: config.approvalSeconds,
    mostPending: config.pendingApprovals,
    publicUrl: config.publicUrl,
    onRequested: (approval) =>
      void tellOfApproval(approval, webhooks).catch((err: unknown) =>
        log.warn({ err }, 'could not tell of an approval'),
      ),
  })
  const keys = new Keys(store)
  const host: Host = {
    catalogue,
    calls: store.calls,
    reach,
    desk,
    findPrincipal: (id) => keys.principal(id),
    onEnd: (call) => metrics.callEnded(call),
  }
  const runner = new Runner({
    ...{ store, jobs, catalogue, keys, log },
    outputMs: config.outputSeconds * 1000,
    dispatch: (asked) => dispatch(asked, host),
    conclude: (asked, outcome) => conclude(asked, outcome, host),
    passedGate: (callId) => desk.hasPassed(callId),
    modelOf: (run) => modelOf(run, store, models),
    onStart: () => metrics.generationStarted(),
    onEnd: (run) => metrics.generationEnded(run),
    onRest: (run, result) => tellOfRun(run, result, webhooks),
  })
  metrics.watchGenerations(() => runner.running)
  const parts: Parts = {
    store,
    runner,
    catalogue,
    shelves: new Shelves(store, catalogue),
    resolver: new Resolver(meanings),
    schemas,
    reach,
    vault,
    models,
    webhooks,
    permissions,
    version,
    limits: { fileBytes: config.fileLimit },
    dispatch: (asked) => dispatch(asked, host),
    linkToApproval: (id, home) => desk.linkTo({ id }, home),
    toolLists: (server, request) => toolLists(new Visit(server, request, parts)),
  }
  const closeParts = async () => {
    await jobs.stop()
    await meanings?.close()
    await models.close()
    await upstreams.close()
    await outbound.close()
    await schemas.close()
    await store.close()
  }
  if (!config.ignoreRequired) {
    await contactRequired(store, catalogue).catch(async (error: unknown) => {
      await closeParts()
      throw error
    })
  }
  await runner.work()
  const warm = keepWarm({ ...parts, log })
  const authenticator = apiKeyAuthenticator(keys)
  const sessions = new Sessions(store, keys)
  const admit = createAdmit({
    ...{ authenticator, sessions, lineage },
    rateLimit: new RateLimit(config.rateLimit),
    closing: closing.signal,
    onLoopback: config.onLoopback,
  })
  const { bodyLimit } = config
  const endpoints = new McpEndpoints({ parts, admit, authenticator, log, version, bodyLimit })
  const handle = createHandler({
    rest: restRoutes({ operations, parts, admit, metrics, log, bodyLimit, closing: closing.signal }),
    signIn: signInRoutes({ sessions, log, closing: closing.signal, version }),
    mcp: (exchange, server) => endpoints.handle(exchange, server),
    dashboard: dashboard(pages),
    openapi: once(() => JSON.stringify(openapi(operations, version))),
    reference: once(() => reference(operations, version)),
    metrics,
    log,
    searchState: () => parts.resolver.state,
    fault: async () => (closing.signal.aborted ? 'The platform is shutting down.' : store.writeProbe.fault()),
  })

  await webhooks.start()
  const sweeps = [sweepApprovals(store, log), sweepHourly({ store, webhooks, config }, log)]

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
    drain() {
      closing.abort()
      runner.close()
      void jobs.stop()
      desk.close()
      void endpoints.drain()
    },
    async close() {
      closing.abort()
      desk.close()
      warm.close()
      runner.close()
      await Promise.all(sweeps.map((one) => one.close()))
      await endpoints.close()
      await closeParts()
    },
  }
}

/** Makes it when it is first asked for: a start has no time for what few read. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** What actions are searched by beside their words. */
function meaningsOf(
  config: Config,
  { store, outbound, log, warn }: { store: Store; outbound: Outbound; log: Logger } & PlatformOptions,
): Meanings | undefined {
  const { embeddings, embeddingsUrl: url, embeddingsModel: model, embeddingsKey: key, embeddingsFolder } = config
  if (embeddings === 'off' && url === undefined) return undefined
  const embedder =
    url === undefined ? new EmbeddedModel(embeddingsFolder) : new RemoteModel({ url, model, key }, outbound)
  const meanings = new Meanings(embedder, store, (text) =>
    warn && log.isLevelEnabled('warn') ? warn(text) : log.warn({ model: embedder.model }, text),
  )
  void meanings.check()
  return meanings
}
