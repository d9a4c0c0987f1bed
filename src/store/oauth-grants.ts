import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { OauthGrantRow } from '../db/tables.ts'
import type { OauthGrant } from '../model/oauth-grant.ts'
import { iso, type Page, type Window } from '../model/page.ts'

const toGrant = (row: OauthGrantRow): OauthGrant => ({
  id: row.id,
  project_id: row.project_id,
  server_id: row.server_id,
  resource: row.resource,
  scopes: row.scope.split(' '),
  granted_by: { id: row.principal_id, name: row.principal_name },
  client: { name: row.client_name, host: row.client_host, redirect_host: row.redirect_host },
  last_used_at: row.last_used_at === null ? null : iso(row.last_used_at),
  expires_at: iso(row.expires_at),
  created_at: iso(row.created_at),
})

export type OauthGrantFilter = { project_id?: string | undefined; granted_by?: string | undefined } & Window

export class OauthGrants {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  async create(row: Omit<OauthGrantRow, 'created_at' | 'last_used_at'>): Promise<void> {
    await this.#engine.db
      .insertInto('oauth_grants')
      .values({ ...row, last_used_at: null, created_at: Date.now() })
      .execute()
  }

  findRow(id: string): Promise<OauthGrantRow | undefined> {
    return this.#engine.db.selectFrom('oauth_grants').selectAll().where('id', '=', id).executeTakeFirst()
  }

  async find(id: string): Promise<OauthGrant | undefined> {
    const row = await this.findRow(id)
    return row && toGrant(row)
  }

  list(filter: OauthGrantFilter, visible: Visible): Promise<Page<OauthGrant>> {
    let where = this.#engine.db.selectFrom('oauth_grants')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    if (filter.granted_by) where = where.where('principal_id', '=', filter.granted_by)
    return pageOfRows(where, filter, visible, toGrant)
  }

  /** No change event: this does not affect what the grant allows. */
  async touch(id: string, change: Partial<Pick<OauthGrantRow, 'last_used_at' | 'expires_at'>>): Promise<void> {
    await this.#engine.db.updateTable('oauth_grants').set(change).where('id', '=', id).execute()
  }

  /** Ends the grant: its tokens are refused from now on, and cannot be refreshed. */
  async remove(id: string): Promise<void> {
    await this.#engine.db.transaction().execute(async (db) => {
      await db.deleteFrom('oauth_grants').where('id', '=', id).execute()
      await db.deleteFrom('oauth_artifacts').where('grant_id', '=', id).execute()
    })
    await this.#changes.publish('oauth_grants', [id])
  }

  async sweep(now = Date.now()): Promise<void> {
    const { db } = this.#engine
    const expired = db.selectFrom('oauth_grants').select('id').where('expires_at', '<', now)
    await db.deleteFrom('oauth_artifacts').where('grant_id', 'in', expired).execute()
    await db.deleteFrom('oauth_grants').where('expires_at', '<', now).execute()
  }
}
