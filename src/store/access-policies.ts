import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { type Guard, guarded } from '../db/guarded.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { AccessPolicyRow } from '../db/tables.ts'
import type { AccessPolicy, PolicyDocument } from '../model/access-policy.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'

const toPolicy = (row: AccessPolicyRow): AccessPolicy => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  description: row.description,
  document: JSON.parse(row.document),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

export interface NewAccessPolicy {
  readonly id?: string
  readonly project_id: string | null
  readonly name: string
  readonly description: string | null
  readonly document: PolicyDocument
}

export class AccessPolicies {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  async create(policy: NewAccessPolicy): Promise<AccessPolicy> {
    const now = Date.now()
    const row: AccessPolicyRow = {
      ...policy,
      id: policy.id ?? newId('pol', now),
      document: JSON.stringify(policy.document),
      created_at: now,
      updated_at: now,
    }
    await this.#engine.db.insertInto('access_policies').values(row).execute()
    return toPolicy(row)
  }

  async find(id: string): Promise<AccessPolicy | undefined> {
    const row = await this.#engine.db.selectFrom('access_policies').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toPolicy(row)
  }

  async findMany(ids: readonly string[]): Promise<AccessPolicy[]> {
    if (ids.length === 0) return []
    const rows = await this.#engine.db.selectFrom('access_policies').selectAll().where('id', 'in', ids).execute()
    return rows.map(toPolicy)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<AccessPolicy>> {
    let where = this.#engine.db.selectFrom('access_policies')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toPolicy)
  }

  async update(id: string, change: Partial<NewAccessPolicy>, guard?: Guard): Promise<AccessPolicy | undefined> {
    const { document, ...rest } = change
    const row = await guarded(this.#engine, guard, (db) =>
      db
        .updateTable('access_policies')
        .set({ ...rest, ...(document && { document: JSON.stringify(document) }), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    await this.#changes.publish('access_policies', [id])
    return row && toPolicy(row)
  }

  /** The keys and people that have the policy. */
  async holders(id: string): Promise<string[]> {
    const has = (table: 'api_keys' | 'users') =>
      this.#engine.db
        .selectFrom(table)
        .select('id')
        .where('access_policy_ids', 'like', `%${JSON.stringify(id)}%`)
        .execute()
    return [...(await has('api_keys')), ...(await has('users'))].map((row) => row.id)
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('access_policies').where('id', '=', id).execute()
    await this.#changes.publish('access_policies', [id])
  }
}
