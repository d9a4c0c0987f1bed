import type { Kysely } from 'kysely'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { Tables, WebhookDeliveryRow, WebhookRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { firstIdAt, newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type {
  Delivery,
  DeliveryStatus,
  DeliverySummary,
  Webhook,
  WebhookDraft,
  WebhookEvent,
} from '../model/webhook.ts'

const toWebhook = (row: WebhookRow): Webhook => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  url: row.url,
  events: JSON.parse(row.events),
  enabled: row.enabled === 1,
  disabled_reason: row.disabled_reason,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** The enabled webhooks of a project that subscribe to an event. Takes a transaction as well. */
export async function subscribersTo(
  type: WebhookEvent,
  projectId: string,
  db: Pick<Kysely<Tables>, 'selectFrom'>,
): Promise<Webhook[]> {
  const enabled = db.selectFrom('webhooks').selectAll().where('project_id', '=', projectId).where('enabled', '=', 1)
  const webhooks = (await enabled.execute()).map(toWebhook)
  return webhooks.filter(({ events }) => events.includes('*') || events.includes(type))
}

/** The URL with its secrets masked, and the whole URL, encrypted. Empty if it has none. */
export interface SealedUrl {
  readonly url: string
  readonly sealed_url: string
}

const toColumns = (draft: WebhookDraft & SealedUrl) => ({
  name: draft.name,
  url: draft.url,
  sealed_url: draft.sealed_url,
  events: JSON.stringify(draft.events),
  enabled: Number(draft.enabled),
})

const summaryColumns = [
  'id',
  'webhook_id',
  'project_id',
  'type',
  'status',
  'attempts',
  'last_status_code',
  'last_error',
  'response_excerpt',
  'next_attempt_at',
  'last_attempt_at',
  'delivered_at',
  'created_at',
] as const

type SummaryRow = Pick<WebhookDeliveryRow, (typeof summaryColumns)[number]>

const isoOrNull = (time: number | null) => (time === null ? null : iso(time))

const toSummary = (row: SummaryRow): DeliverySummary => ({
  id: row.id,
  webhook_id: row.webhook_id,
  project_id: row.project_id,
  type: row.type,
  status: row.status as DeliveryStatus,
  attempts: row.attempts,
  last_status_code: row.last_status_code,
  last_error: row.last_error,
  response_excerpt: row.response_excerpt,
  next_attempt_at: isoOrNull(row.next_attempt_at),
  last_attempt_at: isoOrNull(row.last_attempt_at),
  delivered_at: isoOrNull(row.delivered_at),
  created_at: iso(row.created_at),
})

const toDelivery = (row: WebhookDeliveryRow): Delivery => ({ ...toSummary(row), body: JSON.parse(row.body) })

/** The sealed secrets of a webhook: the current one and, for a while after a rotation, the previous one. */
export interface SealedSecrets {
  readonly secret: string
  readonly previous_secret: string | null
  readonly previous_until: number | null
}

/** A delivery that is due. */
export type Due = Pick<WebhookDeliveryRow, 'id' | 'attempts' | 'body'>

export type DeliveryChange = Partial<
  Pick<
    WebhookDeliveryRow,
    | 'status'
    | 'attempts'
    | 'last_status_code'
    | 'last_error'
    | 'response_excerpt'
    | 'next_attempt_at'
    | 'last_attempt_at'
    | 'delivered_at'
  >
>

export class WebhookStore {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get #db() {
    return this.#engine.db
  }

  async create(projectId: string, id: string, draft: WebhookDraft & SealedUrl, secret: string): Promise<Webhook> {
    const now = Date.now()
    const row: WebhookRow = {
      id,
      project_id: projectId,
      ...toColumns(draft),
      disabled_reason: null,
      secret,
      previous_secret: null,
      previous_until: null,
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'webhook', draft.name, () => this.#db.insertInto('webhooks').values(row).execute())
    return toWebhook(row)
  }

  async find(id: string): Promise<Webhook | undefined> {
    const row = await this.#db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toWebhook(row)
  }

  async count(projectId: string): Promise<number> {
    const { n } = await this.#db
      .selectFrom('webhooks')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('project_id', '=', projectId)
      .executeTakeFirstOrThrow()
    return Number(n)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<Webhook>> {
    let where = this.#db.selectFrom('webhooks')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toWebhook)
  }

  subscribers(projectId: string, type: WebhookEvent): Promise<Webhook[]> {
    return subscribersTo(type, projectId, this.#db)
  }

  async update(id: string, draft: WebhookDraft & SealedUrl): Promise<Webhook | undefined> {
    const row = await uniquely(this.#engine, 'webhook', draft.name, () =>
      this.#db
        .updateTable('webhooks')
        .set({ ...toColumns(draft), ...(draft.enabled && { disabled_reason: null }), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    return row && toWebhook(row)
  }

  async disable(id: string, reason: string): Promise<void> {
    await this.#db
      .updateTable('webhooks')
      .set({ enabled: 0, disabled_reason: reason, updated_at: Date.now() })
      .where('id', '=', id)
      .execute()
  }

  async remove(id: string): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('webhooks').where('id', '=', id).execute()
      await transaction.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute()
    })
  }

  /** Webhooks whose URL is not sealed yet. */
  async unsealed(): Promise<Webhook[]> {
    const rows = await this.#db.selectFrom('webhooks').selectAll().where('sealed_url', 'is', null).execute()
    return rows.map(toWebhook)
  }

  /** Does nothing if the webhook has changed since it was read. */
  async sealUrl({ id, updated_at }: Webhook, sealed: SealedUrl): Promise<void> {
    await this.#db
      .updateTable('webhooks')
      .set({ ...sealed })
      .where('id', '=', id)
      .where('updated_at', '=', Date.parse(updated_at))
      .where('sealed_url', 'is', null)
      .execute()
  }

  findSecrets(id: string): Promise<(SealedSecrets & Pick<WebhookRow, 'sealed_url'>) | undefined> {
    return this.#db
      .selectFrom('webhooks')
      .select(['secret', 'previous_secret', 'previous_until', 'sealed_url'])
      .where('id', '=', id)
      .executeTakeFirst()
  }

  async replaceSecret(id: string, { secret, previous_secret, previous_until }: SealedSecrets): Promise<void> {
    await this.#db
      .updateTable('webhooks')
      .set({ secret, previous_secret, previous_until, updated_at: Date.now() })
      .where('id', '=', id)
      .execute()
  }

  /** Creates a delivery to each webhook, unless one with the same key exists. Returns the new deliveries. */
  async addDeliveries(
    to: readonly Pick<Webhook, 'id' | 'project_id'>[],
    event: {
      readonly type: string
      readonly body: string
      readonly key?: string | undefined
      readonly nextAt: number | null
    },
  ): Promise<{ id: string; webhook_id: string }[]> {
    if (to.length === 0) return []
    const now = Date.now()
    const rows = to.map((webhook): WebhookDeliveryRow => {
      const id = newId('whd', now)
      return {
        id,
        webhook_id: webhook.id,
        project_id: webhook.project_id,
        type: event.type,
        key: event.key ?? id,
        status: 'pending',
        attempts: 0,
        last_status_code: null,
        last_error: null,
        next_attempt_at: event.nextAt,
        last_attempt_at: null,
        delivered_at: null,
        created_at: now,
        response_excerpt: null,
        body: event.body,
      }
    })
    return this.#db
      .insertInto('webhook_deliveries')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['webhook_id', 'key']).doNothing())
      .returning(['id', 'webhook_id'])
      .execute()
  }

  async findDelivery(webhookId: string, id: string): Promise<Delivery | undefined> {
    const row = await this.#db
      .selectFrom('webhook_deliveries')
      .selectAll()
      .where('id', '=', id)
      .where('webhook_id', '=', webhookId)
      .executeTakeFirst()
    return row && toDelivery(row)
  }

  listDeliveries(
    webhookId: string,
    filter: { status?: DeliveryStatus | undefined; type?: string | undefined } & Window,
  ): Promise<Page<DeliverySummary>> {
    let where = this.#db.selectFrom('webhook_deliveries').where('webhook_id', '=', webhookId)
    if (filter.status) where = where.where('status', '=', filter.status)
    if (filter.type) where = where.where('type', '=', filter.type)
    return pageOfRows(where, filter, undefined, toSummary, { order: 'desc', columns: summaryColumns })
  }

  /** Deliveries to a webhook that are due, the longest overdue first. */
  due(webhookId: string, limit: number): Promise<Due[]> {
    return this.#db
      .selectFrom('webhook_deliveries')
      .select(['id', 'attempts', 'body'])
      .where('status', '=', 'pending')
      .where('webhook_id', '=', webhookId)
      .where('next_attempt_at', '<=', Date.now())
      .orderBy('next_attempt_at')
      .orderBy('id')
      .limit(limit)
      .execute()
  }

  /** The time of the next delivery to a webhook. */
  async nextAt(webhookId: string): Promise<number | undefined> {
    const row = await this.#db
      .selectFrom('webhook_deliveries')
      .select((e) => e.fn.min('next_attempt_at').as('at'))
      .where('status', '=', 'pending')
      .where('webhook_id', '=', webhookId)
      .executeTakeFirst()
    return row?.at ?? undefined
  }

  async countPending(): Promise<number> {
    const { n } = await this.#db
      .selectFrom('webhook_deliveries')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('status', '=', 'pending')
      .executeTakeFirstOrThrow()
    return Number(n)
  }

  /** Webhooks with pending deliveries. */
  async waiting(): Promise<{ webhook_id: string; at: number }[]> {
    const rows = await this.#db
      .selectFrom('webhook_deliveries')
      .select((e) => ['webhook_id', e.fn.min('next_attempt_at').as('at')])
      .where('status', '=', 'pending')
      .where('next_attempt_at', 'is not', null)
      .groupBy('webhook_id')
      .execute()
    return rows.map(({ webhook_id, at }) => ({ webhook_id, at: Number(at) }))
  }

  async changeDelivery(id: string, change: DeliveryChange): Promise<DeliverySummary | undefined> {
    const row = await this.#db
      .updateTable('webhook_deliveries')
      .set(change)
      .where('id', '=', id)
      .returning(summaryColumns)
      .executeTakeFirst()
    return row && toSummary(row)
  }

  /** Fails all pending deliveries of a disabled webhook. Returns how many. */
  async giveUp(webhookId: string, error: string): Promise<number> {
    const { numUpdatedRows } = await this.#db
      .updateTable('webhook_deliveries')
      .set({ status: 'failed', next_attempt_at: null, last_error: error })
      .where('status', '=', 'pending')
      .where('webhook_id', '=', webhookId)
      .executeTakeFirstOrThrow()
    return Number(numUpdatedRows)
  }

  /** Deletes deliveries older than `before`. */
  async sweep(before: number): Promise<void> {
    await this.#db.deleteFrom('webhook_deliveries').where('id', '<', firstIdAt('whd', before)).execute()
  }
}
