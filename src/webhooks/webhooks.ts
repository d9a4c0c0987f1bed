import type { Outbound } from '../http/outbound.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { iso } from '../model/page.ts'
import type { DeliverySummary, Webhook, WebhookDraft, WebhookEvent } from '../model/webhook.ts'
import { sealedAt } from '../store/sealed.ts'
import type { DeliveryChange, Due, WebhookStore } from '../store/webhooks.ts'
import { post, type WebhookResponse } from './post.ts'
import { sealUrl, unmaskUrl } from './sealed-url.ts'
import { newWebhookSecret, signed } from './signature.ts'

/** Encrypts a text and binds it to `place`. It cannot be opened elsewhere. */
export interface Seal {
  seal(text: string, place: string): string | Promise<string>
  open(sealed: string, place: string): string
}

export interface WebhookDeps {
  readonly store: WebhookStore
  readonly jobs: Jobs
  readonly outbound: Pick<Outbound, 'client'>
  readonly seal: Seal
  /** Called for deliveries that this process has finished. */
  onEnd?(status: 'delivered' | 'failed', count: number): void
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** The wait after each failed attempt. After the last, the delivery fails. */
export const retryAfterMs: readonly number[] = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  hour,
  3 * hour,
  8 * hour,
]

const queue = 'webhooks'
/** How many webhooks are sent to at once, and how many deliveries to each of them. */
const concurrency = 100
const concurrentPerWebhook = 4
/** A webhook with many deliveries yields to others after this time. */
const sliceMs = 30 * second
const previousSecretMs = day
const keptMs = 30 * day
const maxInProject = 100
const maxBytes = 256 * 1024

/**
 * Publishes the events of a project to its webhooks.
 *
 * For each webhook, a delivery is written before anything is sent. Each webhook has a job, which sends the due
 * deliveries, a few at a time, records the results, and enqueues itself for the next time. So a slow or dead receiver
 * does not delay others. If a process dies, another one sends everything again that is not recorded as delivered.
 * Receivers may get a delivery twice, with the same id.
 */
export class Webhooks {
  readonly #deps: WebhookDeps

  constructor(deps: WebhookDeps) {
    this.#deps = deps
  }

  /** Starts sending, beginning with deliveries from before the start. */
  async start(): Promise<void> {
    await this.#sealUrls()
    await this.#deps.jobs.work(queue, (id, lease) => this.#deliver(id, lease), { concurrency })
    await this.remind()
  }

  /** Enqueues all pending deliveries: a process may have died after the commit and before it enqueued the job. */
  async remind(): Promise<void> {
    for (const { webhook_id, at } of await this.#deps.store.waiting())
      await this.#deps.jobs.enqueue(queue, webhook_id, { after: at - Date.now() })
  }

  sweep(): Promise<void> {
    return this.#deps.store.sweep(Date.now() - keptMs)
  }

  /**
   * Publishes an event to the webhooks that subscribe to it. Resolves once the deliveries are written, before they are
   * sent. An event with a `key` is delivered once per webhook, even if this is called repeatedly.
   */
  async publish(
    projectId: string,
    type: WebhookEvent,
    data: JsonObject,
    { key }: { readonly key?: string } = {},
  ): Promise<void> {
    const { store, jobs } = this.#deps
    const wanted = await store.subscribers(projectId, type)
    const now = Date.now()
    const made = await store.addDeliveries(wanted, { type, body: bodyOf(type, data, now), key, nextAt: now })
    await Promise.all(made.map(({ webhook_id }) => jobs.enqueue(queue, webhook_id)))
  }

  async create(projectId: string, draft: WebhookDraft): Promise<Webhook & { secret: string }> {
    const { store } = this.#deps
    if ((await store.count(projectId)) >= maxInProject) {
      throw new PlatformError('TOO_MANY_WEBHOOKS', { limit: maxInProject })
    }
    const id = newId('wh')
    const secret = newWebhookSecret()
    const sealed = { ...draft, ...(await sealUrl(unmaskUrl(draft.url, ''), id, this.#deps.seal)) }
    return { ...(await store.create(projectId, id, sealed, await this.#seal(id, secret))), secret }
  }

  /** A URL with masks keeps the keys that they stand for. */
  async update(webhook: Webhook, change: Partial<WebhookDraft>): Promise<Webhook> {
    const { store, seal } = this.#deps
    const whole = this.#urlOf(webhook, await store.findSecrets(webhook.id))
    const url = change.url === undefined ? whole : unmaskUrl(change.url, whole)
    const next = { ...webhook, ...change, ...(await sealUrl(url, webhook.id, seal)) }
    return (await store.update(webhook.id, next)) ?? webhook
  }

  /** The previous secret stays valid for a day, so that receivers can switch without missing events. */
  async rotateSecret(webhook: Webhook): Promise<Webhook & { secret: string }> {
    const { store } = this.#deps
    const secret = newWebhookSecret()
    const before = await store.findSecrets(webhook.id)
    await store.replaceSecret(webhook.id, {
      secret: await this.#seal(webhook.id, secret),
      previous_secret: before?.secret ?? null,
      previous_until: Date.now() + previousSecretMs,
    })
    return { ...((await store.find(webhook.id)) ?? webhook), secret }
  }

  /** Sends a `webhook.test` event immediately, without retries. */
  async test(webhook: Webhook): Promise<DeliverySummary> {
    const { store } = this.#deps
    const body = bodyOf('webhook.test', { webhook_id: webhook.id, name: webhook.name }, Date.now())
    const [made] = await store.addDeliveries([webhook], { type: 'webhook.test', body, nextAt: null })
    const { id } = made as { id: string }
    const answered = await this.#send(webhook, { id, body })
    const status = answered.error === null ? 'delivered' : 'failed'
    return (await this.#end(id, outcome(answered, 1), status)) as DeliverySummary
  }

  /** Starts a delivery over, whatever its status. */
  async redeliver(webhook: Webhook, deliveryId: string): Promise<DeliverySummary> {
    const { store, jobs } = this.#deps
    if (!webhook.enabled) throw new PlatformError('WEBHOOK_DISABLED', { webhook: webhook.name })
    const again = await store.changeDelivery(deliveryId, {
      status: 'pending',
      attempts: 0,
      next_attempt_at: Date.now(),
      delivered_at: null,
    })
    if (!again) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'delivery', id: deliveryId })
    await jobs.enqueue(queue, webhook.id)
    return again
  }

  async #deliver(webhookId: string, signal: AbortSignal): Promise<void> {
    const { store, jobs } = this.#deps
    const until = Date.now() + sliceMs
    while (!signal.aborted) {
      const webhook = await store.find(webhookId)
      if (!webhook) return
      if (!webhook.enabled) {
        const count = await store.giveUp(webhookId, webhook.disabled_reason ?? 'The webhook is disabled.')
        if (count > 0) this.#deps.onEnd?.('failed', count)
        return
      }
      const due = Date.now() < until ? await store.due(webhookId, concurrentPerWebhook) : []
      if (due.length === 0) {
        const next = await store.nextAt(webhookId)
        if (next !== undefined) await jobs.enqueue(queue, webhookId, { after: next - Date.now() })
        return
      }
      await Promise.all(due.map((delivery) => this.#attempt(webhook, delivery, signal)))
    }
  }

  async #attempt(webhook: Webhook, delivery: Due, signal: AbortSignal): Promise<void> {
    const { store } = this.#deps
    const answered = await this.#send(webhook, delivery, signal)
    // Shutting down: this does not count as an attempt, and the next process sends it again.
    if (signal.aborted && answered.error !== null) return
    const attempts = delivery.attempts + 1
    const change = outcome(answered, attempts)
    const wait = retryAfterMs[delivery.attempts]
    if (answered.error === null) await this.#end(delivery.id, change, 'delivered')
    else if (answered.status === 410) {
      await this.#end(delivery.id, change, 'failed')
      await store.disable(webhook.id, 'The endpoint returned 410 Gone, so the webhook was disabled.')
    } else if (wait === undefined) await this.#end(delivery.id, change, 'failed')
    else await store.changeDelivery(delivery.id, { ...change, next_attempt_at: Date.now() + wait })
  }

  async #end(id: string, change: DeliveryChange, status: 'delivered' | 'failed') {
    const ended = await this.#deps.store.changeDelivery(id, { ...change, status })
    if (ended) this.#deps.onEnd?.(status, 1)
    return ended
  }

  async #send(
    webhook: Webhook,
    { id, body }: { readonly id: string; readonly body: string },
    signal?: AbortSignal,
  ): Promise<WebhookResponse> {
    try {
      const { url, secrets } = await this.#secretsOf(webhook)
      const headers = signed({ id, body, at: Date.now() }, secrets)
      const owner = { project: webhook.project_id, credentials: ['webhook', webhook.id, url] }
      return await post(this.#deps.outbound.client(owner), { url, headers, body, secrets, signal })
    } catch (error) {
      // For example, a secret that cannot be decrypted. It goes to the delivery log, where users look.
      if (error instanceof PlatformError) return { status: null, error: error.message, excerpt: null }
      throw error
    }
  }

  async #secretsOf(webhook: Webhook): Promise<{ readonly url: string; readonly secrets: string[] }> {
    const { store, seal } = this.#deps
    const { id } = webhook
    const sealed = await store.findSecrets(id)
    if (!sealed) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'webhook', id })
    const previous = (sealed.previous_until ?? 0) > Date.now() ? sealed.previous_secret : null
    const secrets = [sealed.secret, previous].flatMap((each) =>
      each === null ? [] : seal.open(each, sealedAt.webhookSecret(id)),
    )
    return { url: this.#urlOf(webhook, sealed), secrets }
  }

  #urlOf({ id, url }: Webhook, sealed: { readonly sealed_url: string | null } | undefined): string {
    return sealed?.sealed_url ? this.#deps.seal.open(sealed.sealed_url, sealedAt.webhookUrl(id)) : url
  }

  /** Seals the URLs of webhooks from before URLs were sealed. Without the right key, the next start does it. */
  async #sealUrls(): Promise<void> {
    const { store, seal } = this.#deps
    try {
      for (const webhook of await store.unsealed()) {
        await store.sealUrl(webhook, await sealUrl(webhook.url, webhook.id, seal))
      }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
    }
  }

  async #seal(id: string, secret: string): Promise<string> {
    return this.#deps.seal.seal(secret, sealedAt.webhookSecret(id))
  }
}

/** The changes to a delivery after an attempt, assuming that it was the last. */
function outcome({ status, error, excerpt }: WebhookResponse, attempts: number): DeliveryChange {
  const now = Date.now()
  return {
    attempts,
    last_status_code: status,
    last_error: error,
    response_excerpt: excerpt,
    next_attempt_at: null,
    last_attempt_at: now,
    delivered_at: error === null ? now : null,
  }
}

/**
 * Receivers limit body sizes. Fields that are too large are listed in `omitted`, and can be fetched by the ids next to
 * them.
 */
function bodyOf(type: string, data: JsonObject, now: number): string {
  const write = (what: JsonObject) => JSON.stringify({ type, timestamp: iso(now), data: what })
  const sizes = Object.entries(data).map(([name, value]) => ({ name, size: JSON.stringify(value).length }))
  sizes.sort((a, b) => a.size - b.size)
  const omitted: string[] = []
  let text = write(data)
  while (Buffer.byteLength(text) > maxBytes && sizes.length > 0) {
    omitted.push((sizes.pop() as { name: string }).name)
    text = write({ ...Object.fromEntries(Object.entries(data).filter(([name]) => !omitted.includes(name))), omitted })
  }
  return text
}
