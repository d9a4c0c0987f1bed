import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { type Guard, guarded } from '../db/guarded.ts'
import { parse, printList } from '../db/json.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ApiKeyRow } from '../db/tables.ts'
import type { ApiKey } from '../model/api-key.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'

const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  key_prefix: row.key_prefix,
  access_policy_ids: JSON.parse(row.access_policy_ids),
  created_by: (JSON.parse(row.ancestors) as string[]).at(-1) ?? null,
  rate_limit: row.rate_limit,
  end_user_id: row.end_user_id,
  modes: parse(row.modes) ?? [],
  expires_at: row.expires_at === null ? null : iso(row.expires_at),
  last_used_at: row.last_used_at === null ? null : iso(row.last_used_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

export interface NewApiKey {
  readonly id?: string
  readonly project_id: string | null
  readonly name: string
  readonly key_hash: string
  readonly key_prefix: string
  readonly access_policy_ids: readonly string[]
  /** The chain of keys that created this one, root first. */
  readonly ancestors?: readonly string[]
  readonly rate_limit: number | null
  readonly end_user_id?: string | null
  readonly modes?: readonly string[]
  readonly expires_at: number | null
}

export interface ApiKeyChange {
  readonly name?: string
  readonly access_policy_ids?: readonly string[]
  readonly rate_limit?: number | null
  readonly modes?: readonly string[]
  readonly expires_at?: number | null
}

export class ApiKeys {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  async create(key: NewApiKey): Promise<ApiKey> {
    const now = Date.now()
    const row: ApiKeyRow = {
      ...key,
      id: key.id ?? newId('key', now),
      access_policy_ids: JSON.stringify(key.access_policy_ids),
      ancestors: JSON.stringify(key.ancestors ?? []),
      end_user_id: key.end_user_id ?? null,
      modes: printList(key.modes ?? []),
      last_used_at: null,
      created_at: now,
      updated_at: now,
    }
    await this.#engine.db.insertInto('api_keys').values(row).execute()
    await this.#changes.publish('api_keys', [row.id])
    return toApiKey(row)
  }

  async find(id: string): Promise<ApiKey | undefined> {
    const row = await this.#engine.db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toApiKey(row)
  }

  findByHash(hash: string): Promise<ApiKeyRow | undefined> {
    return this.#engine.db.selectFrom('api_keys').selectAll().where('key_hash', '=', hash).executeTakeFirst()
  }

  findRow(id: string): Promise<ApiKeyRow | undefined> {
    return this.#engine.db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst()
  }

  /** The existing ancestors of the given keys, by key. */
  async ancestorsOf(ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    if (ids.length === 0) return new Map()
    const query = this.#engine.db.selectFrom('api_keys').select(['id', 'ancestors']).where('id', 'in', ids)
    return new Map((await query.execute()).map(({ id, ancestors }) => [id, JSON.parse(ancestors)]))
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<ApiKey>> {
    let where = this.#engine.db.selectFrom('api_keys')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toApiKey)
  }

  async update(id: string, change: ApiKeyChange, guard?: Guard): Promise<ApiKey | undefined> {
    const { access_policy_ids, modes, ...rest } = change
    const row = await guarded(this.#engine, guard, (db) =>
      db
        .updateTable('api_keys')
        .set({
          ...rest,
          ...(access_policy_ids && { access_policy_ids: JSON.stringify(access_policy_ids) }),
          ...(modes && { modes: printList(modes) }),
          updated_at: Date.now(),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    await this.#changes.publish('api_keys', [id])
    return row && toApiKey(row)
  }

  /** No change event: this does not affect what the key can do. */
  async touch(id: string, usedAt: number): Promise<void> {
    await this.#engine.db.updateTable('api_keys').set({ last_used_at: usedAt }).where('id', '=', id).execute()
  }

  async remove(id: string, guard?: Guard): Promise<void> {
    await guarded(this.#engine, guard, (db) => db.deleteFrom('api_keys').where('id', '=', id).execute())
    await this.#changes.publish('api_keys', [id])
  }
}
