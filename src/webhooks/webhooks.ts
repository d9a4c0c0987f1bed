import type { Outbound } from '../http/outbound.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { iso } from '../model/page.ts'
import type { DeliverySummary, Webhook, WebhookDraft, WebhookEvent } from '../model/webhook.ts'
import { sealedAt } from '../store/sealed.ts'
import type { DeliveryChange, Due, WebhookStore } from '../store/webhooks.ts'
import { type Answered, post } from './post.ts'
import { newWebhookSecret, signed } from './signature.ts'

/** Keeps a text so that it can be read here and nowhere else. `place` names where it is kept; elsewhere it does not open. */
export interface Seal {
  seal(text: string, place: string): string | Promise<string>
  open(sealed: string, place: string): string
}

export interface WebhookParts {
  readonly store: WebhookStore
  readonly jobs: Jobs
  readonly outbound: Pick<Outbound, 'client'>
  readonly seal: Seal
  /** Told of deliveries that came to their end here. */
  onEnd?(status: 'delivered' | 'failed', count: number): void
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** How long to wait after each failed attempt; after the last there is no other. */
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
/** Webhooks that are sent to at once, and deliveries to one of them. */
const concurrency = 100
const atOnceToOne = 4
/** One that has much to be sent makes room for others after a while. */
const sliceMs = 30 * second
const previousSecretMs = day
const keptMs = 30 * day
const mostInProject = 100
const mostBytes = 256 * 1024

/**
 * Tells the webhooks of a project what happens in it.
 *
 * What is told is a row for each webhook before anything is sent. Each webhook has a job, which sends what is due, some at
 * once, writes down how it went, and enqueues itself for the next time. So a target that is slow or dead holds up nobody else. A process that dies in the middle is followed by another, which sends again what has not
 * been written down as delivered: targets may get a delivery twice, with the same id.
 */
export class Webhooks {
  readonly #parts: WebhookParts

  constructor(parts: WebhookParts) {
    this.#parts = parts
  }

  /** Begins to send, with what was left over first. */
  async start(): Promise<void> {
    await this.#parts.jobs.work(queue, (id, lease) => this.#deliver(id, lease), { concurrency })
    await this.remind()
  }

  /** Enqueues everything that waits: a process may have died after the commit and before it could do so. */
  async remind(): Promise<void> {
    for (const { webhook_id, at } of await this.#parts.store.waiting())
      await this.#parts.jobs.enqueue(queue, webhook_id, { after: at - Date.now() })
  }

  sweep(): Promise<void> {
    return this.#parts.store.sweep(Date.now() - keptMs)
  }

  /**
   * Tells those that want to know of it. Resolves once it is written down, which is before anything is sent. What has a
   * `key` is told once to each webhook, however often this is called.
   */
  async tell(
    projectId: string,
    type: WebhookEvent,
    data: JsonObject,
    { key }: { readonly key?: string } = {},
  ): Promise<void> {
    const { store, jobs } = this.#parts
    const webhooks = await store.enabled(projectId)
    const wanted = webhooks.filter(({ events }) => events.includes('*') || events.includes(type))
    const now = Date.now()
    const made = await store.addDeliveries(wanted, { type, body: bodyOf(type, data, now), key, nextAt: now })
    await Promise.all(made.map(({ webhook_id }) => jobs.enqueue(queue, webhook_id)))
  }

  async create(projectId: string, draft: WebhookDraft): Promise<Webhook & { secret: string }> {
    const { store } = this.#parts
    if ((await store.count(projectId)) >= mostInProject) {
      throw new PlatformError('TOO_MANY_WEBHOOKS', { limit: mostInProject })
    }
    const id = newId('wh')
    const secret = newWebhookSecret()
    return { ...(await store.create(projectId, id, draft, await this.#seal(id, secret))), secret }
  }

  /** The secret before stays good for a day, so that a receiver can be changed in between without missing anything. */
  async rotateSecret(webhook: Webhook): Promise<Webhook & { secret: string }> {
    const { store } = this.#parts
    const secret = newWebhookSecret()
    const before = await store.findSecrets(webhook.id)
    await store.replaceSecret(webhook.id, {
      secret: await this.#seal(webhook.id, secret),
      previous_secret: before?.secret ?? null,
      previous_until: Date.now() + previousSecretMs,
    })
    return { ...((await store.find(webhook.id)) ?? webhook), secret }
  }

  /** Sends a `webhook.test` now, and once. */
  async test(webhook: Webhook): Promise<DeliverySummary> {
    const { store } = this.#parts
    const body = bodyOf('webhook.test', { webhook_id: webhook.id, name: webhook.name }, Date.now())
    const [made] = await store.addDeliveries([webhook], { type: 'webhook.test', body, nextAt: null })
    const { id } = made as { id: string }
    const answered = await this.#send(webhook, { id, body })
    const status = answered.error === null ? 'delivered' : 'failed'
    return (await this.#end(id, outcome(answered, 1), status)) as DeliverySummary
  }

  /** Begins anew with a delivery, whatever has become of it. */
  async redeliver(webhook: Webhook, deliveryId: string): Promise<DeliverySummary> {
    const { store, jobs } = this.#parts
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
    const { store, jobs } = this.#parts
    const until = Date.now() + sliceMs
    while (!signal.aborted) {
      const webhook = await store.find(webhookId)
      if (!webhook) return
      if (!webhook.enabled) {
        const count = await store.giveUp(webhookId, webhook.disabled_reason ?? 'The webhook is disabled.')
        if (count > 0) this.#parts.onEnd?.('failed', count)
        return
      }
      const due = Date.now() < until ? await store.due(webhookId, atOnceToOne) : []
      if (due.length === 0) {
        const next = await store.nextAt(webhookId)
        if (next !== undefined) await jobs.enqueue(queue, webhookId, { after: next - Date.now() })
        return
      }
      await Promise.all(due.map((delivery) => this.#attempt(webhook, delivery, signal)))
    }
  }

  async #attempt(webhook: Webhook, delivery: Due, signal: AbortSignal): Promise<void> {
    const { store } = this.#parts
    const answered = await this.#send(webhook, delivery, signal)
    // We stop, and whoever goes on sends it again: this was no attempt.
    if (signal.aborted && answered.error !== null) return
    const attempts = delivery.attempts + 1
    const change = outcome(answered, attempts)
    const wait = retryAfterMs[delivery.attempts]
    if (answered.error === null) await this.#end(delivery.id, change, 'delivered')
    else if (answered.status === 410) {
      await this.#end(delivery.id, change, 'failed')
      await store.disable(webhook.id, 'The target answered 410 Gone, so nothing more is sent to it.')
    } else if (wait === undefined) await this.#end(delivery.id, change, 'failed')
    else await store.changeDelivery(delivery.id, { ...change, next_attempt_at: Date.now() + wait })
  }

  async #end(id: string, change: DeliveryChange, status: 'delivered' | 'failed') {
    const ended = await this.#parts.store.changeDelivery(id, { ...change, status })
    if (ended) this.#parts.onEnd?.(status, 1)
    return ended
  }

  async #send(
    webhook: Webhook,
    { id, body }: { readonly id: string; readonly body: string },
    signal?: AbortSignal,
  ): Promise<Answered> {
    try {
      const secrets = await this.#secretsOf(webhook.id)
      const headers = signed({ id, body, at: Date.now() }, secrets)
      const owner = { project: webhook.project_id, credentials: ['webhook', webhook.id, webhook.url] }
      return await post(this.#parts.outbound.client(owner), { url: webhook.url, headers, body, secrets, signal })
    } catch (error) {
      // A secret that does not open, say: the delivery log is where people look.
      if (error instanceof PlatformError) return { status: null, error: error.message, excerpt: null }
      throw error
    }
  }

  async #secretsOf(id: string): Promise<string[]> {
    const { store, seal } = this.#parts
    const sealed = await store.findSecrets(id)
    if (!sealed) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'webhook', id })
    const previous = (sealed.previous_until ?? 0) > Date.now() ? sealed.previous_secret : null
    return [sealed.secret, previous].flatMap((each) =>
      each === null ? [] : seal.open(each, sealedAt.webhookSecret(id)),
    )
  }

  async #seal(id: string, secret: string): Promise<string> {
    return this.#parts.seal.seal(secret, sealedAt.webhookSecret(id))
  }
}

/** What the row says of an attempt, unless there is to be another. */
function outcome({ status, error, excerpt }: Answered, attempts: number): DeliveryChange {
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

/** Receivers have limits. What is too large to be sent is named, and can be fetched by the ids beside it. */
function bodyOf(type: string, data: JsonObject, now: number): string {
  const write = (what: JsonObject) => JSON.stringify({ type, timestamp: iso(now), data: what })
  const sizes = Object.entries(data).map(([name, value]) => ({ name, size: JSON.stringify(value).length }))
  sizes.sort((a, b) => a.size - b.size)
  const omitted: string[] = []
  let text = write(data)
  while (Buffer.byteLength(text) > mostBytes && sizes.length > 0) {
    omitted.push((sizes.pop() as { name: string }).name)
    text = write({ ...Object.fromEntries(Object.entries(data).filter(([name]) => !omitted.includes(name))), omitted })
  }
  return text
}
