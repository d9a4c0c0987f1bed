import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { createModels } from '../agents/models/models.ts'
import type { Config } from '../config.ts'
import { openVault } from '../credentials/open-vault.ts'
import { Lineage } from '../http/lineage.ts'
import { Outbound } from '../http/outbound.ts'
import { openJobs } from '../jobs/open-jobs.ts'
import { Schemas } from '../json-schema/schema.ts'
import { createLog } from '../log.ts'
import { Upstreams } from '../mcp/client/upstreams.ts'
import { EmbeddedModel } from '../search/embedded.ts'
import { RemoteModel } from '../search/remote.ts'
import { SemanticIndex } from '../search/semantic-index.ts'
import { Metrics } from '../server/metrics.ts'
import { PublicUrl } from '../server/public-url.ts'
import { openStore, type Store } from '../store/store.ts'
import { Apis } from '../tools/openapi/apis.ts'
import { sealStoredTools } from '../tools/seal-stored-tools.ts'
import type { ToolTypes } from '../tools/tool-types.ts'
import { Webhooks } from '../webhooks/webhooks.ts'
import type { PlatformOptions } from './platform.ts'

export type Base = Awaited<ReturnType<typeof createBase>>

/** Everything that the other parts stand on: the database, jobs, encryption, outbound connections, models, metrics. */
export async function createBase(config: Config, types: ToolTypes, { warn, models: replaced }: PlatformOptions) {
  const log = createLog(config.logLevel)
  const outbound = new Outbound({
    allowLoopback: config.onLoopback,
    allow: config.egressAllow,
    maxResponseBytes: config.responseLimit,
    proxy: { http: config.httpProxy, https: config.httpsProxy, except: config.noProxy },
  })
  const store = await openStore(config)
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
  const apis = new Apis(store.apiSnapshots)
  const semantic = semanticIndexOf(config, { store, outbound, log, ...(warn && { warn }) })
  const publicUrl = new PublicUrl(config)
  return {
    ...{ config, log, outbound, store, jobs, vault, models, metrics, webhooks, schemas, upstreams, lineage, apis },
    ...{ semantic, publicUrl },
    async close() {
      await jobs.stop()
      await semantic?.close()
      await models.close()
      await upstreams.close()
      await outbound.close()
      await apis.close()
      await schemas.close()
      await store.close()
    },
  }
}

/** The index to search actions by meaning; undefined if embeddings are off. */
function semanticIndexOf(
  config: Config,
  { store, outbound, log, warn }: { store: Store; outbound: Outbound; log: Logger } & PlatformOptions,
): SemanticIndex | undefined {
  const { embeddings, embeddingsUrl: url, embeddingsModel: model, embeddingsKey: key, embeddingsFolder } = config
  const { embeddingsQueryPrefix: queryPrefix, embeddingsDocumentPrefix: documentPrefix } = config
  if (embeddings === 'off' && url === undefined) return undefined
  const embedder =
    url === undefined
      ? new EmbeddedModel(embeddingsFolder)
      : new RemoteModel({ url, model, key, queryPrefix, documentPrefix }, outbound)
  const semantic = new SemanticIndex(embedder, store, (text) =>
    warn && log.isLevelEnabled('warn') ? warn(text) : log.warn({ model: embedder.model }, text),
  )
  void semantic.check()
  return semantic
}
