import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ExternalIdentityRow, TrustedIssuerRow } from '../db/tables.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { TrustedIssuer, TrustedIssuerDraft } from '../model/trusted-issuer.ts'

const toIssuer = (row: TrustedIssuerRow): TrustedIssuer => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  issuer: row.issuer,
  ...JSON.parse(row.settings),
  enabled: row.enabled === 1,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toColumns = ({ name, issuer, enabled, ...settings }: TrustedIssuerDraft) => ({
  ...{ name, issuer, enabled: enabled ? 1 : 0 },
  settings: JSON.stringify(settings),
})

/** Issuers that projects trust, and who was last seen with a token of theirs. */
export class TrustedIssuers {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  get #db() {
    return this.#engine.db
  }

  async create(projectId: string, draft: TrustedIssuerDraft): Promise<TrustedIssuer> {
    const now = Date.now()
    const row = { id: newId('iss', now), project_id: projectId, ...toColumns(draft), created_at: now, updated_at: now }
    await this.#db.insertInto('trusted_issuers').values(row).execute()
    await this.#changes.publish('trusted_issuers', [row.id])
    return toIssuer(row)
  }

  async find(id: string): Promise<TrustedIssuer | undefined> {
    const row = await this.#db.selectFrom('trusted_issuers').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toIssuer(row)
  }

  /** Everyone who trusts this issuer. Compared as text: two spellings are two issuers. */
  async enabledFor(issuer: string): Promise<TrustedIssuer[]> {
    const query = this.#db.selectFrom('trusted_issuers').selectAll().where('issuer', '=', issuer)
    return (await query.where('enabled', '=', 1).orderBy('id').execute()).map(toIssuer)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<TrustedIssuer>> {
    let where = this.#db.selectFrom('trusted_issuers')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toIssuer)
  }

  async update(id: string, draft: TrustedIssuerDraft): Promise<TrustedIssuer | undefined> {
    const change = { ...toColumns(draft), updated_at: Date.now() }
    const query = this.#db.updateTable('trusted_issuers').set(change).where('id', '=', id).returningAll()
    const row = await query.executeTakeFirst()
    await this.#changes.publish('trusted_issuers', [id])
    return row && toIssuer(row)
  }

  async remove(id: string): Promise<void> {
    await this.#db.transaction().execute(async (db) => {
      await db.deleteFrom('external_identities').where('trusted_issuer_id', '=', id).execute()
      await db.deleteFrom('trusted_issuers').where('id', '=', id).execute()
    })
    await this.#changes.publish('trusted_issuers', [id])
  }

  async putIdentity(row: ExternalIdentityRow): Promise<void> {
    const { id, ...change } = row
    await this.#db
      .insertInto('external_identities')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doUpdateSet(change))
      .execute()
  }

  findIdentity(id: string, now = Date.now()): Promise<ExternalIdentityRow | undefined> {
    const query = this.#db.selectFrom('external_identities').selectAll().where('id', '=', id)
    return query.where('expires_at', '>', now).executeTakeFirst()
  }

  async sweep(now = Date.now()): Promise<void> {
    await this.#db.deleteFrom('external_identities').where('expires_at', '<', now).execute()
  }
}
