import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { AuthConfigRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { type AuthConfig, type ConnectionSettings, ConnectionType } from '../model/connection.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import { readTarget } from './connections.ts'

const toAuthConfig = (row: AuthConfigRow): AuthConfig => {
  const settings: ConnectionSettings = JSON.parse(row.settings)
  return {
    id: row.id,
    project_id: row.project_id,
    ...readTarget(row.target),
    type: ConnectionType.parse(row.type),
    header: settings.header ?? null,
    query: settings.query ?? null,
    client_id: settings.client_id ?? null,
    has_client_secret: row.client_secret !== null,
    scopes: settings.scopes ?? null,
    issuer: settings.issuer ?? null,
    subdomain: settings.subdomain ?? null,
    authorization_endpoint: settings.authorization_endpoint ?? null,
    token_endpoint: settings.token_endpoint ?? null,
    audience: settings.audience ?? null,
    subject_token_type: settings.subject_token_type ?? null,
    idp_issuer: settings.idp_issuer ?? null,
    idp_token_endpoint: settings.idp_token_endpoint ?? null,
    idp_client_id: settings.idp_client_id ?? null,
    has_idp_client_secret: row.idp_client_secret !== null,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  }
}

export type AuthConfigDraft = Omit<AuthConfigRow, 'created_at' | 'updated_at'>

export class AuthConfigs {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  async create(draft: AuthConfigDraft): Promise<AuthConfig> {
    const now = Date.now()
    const row = { ...draft, created_at: now, updated_at: now }
    await uniquely(this.#engine, 'auth config', draft.target.replace('/', ' '), () =>
      this.#engine.db.insertInto('auth_configs').values(row).execute(),
    )
    await this.#changes.publish('connections', [row.project_id])
    return toAuthConfig(row)
  }

  async find(id: string): Promise<AuthConfig | undefined> {
    const row = await this.findRow(id)
    return row && toAuthConfig(row)
  }

  findRow(id: string): Promise<AuthConfigRow | undefined> {
    return this.#engine.db.selectFrom('auth_configs').selectAll().where('id', '=', id).executeTakeFirst()
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<AuthConfig>> {
    let where = this.#engine.db.selectFrom('auth_configs')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toAuthConfig)
  }

  ofProject(projectId: string): Promise<AuthConfigRow[]> {
    return this.#engine.db.selectFrom('auth_configs').selectAll().where('project_id', '=', projectId).execute()
  }

  async update(
    id: string,
    change: Partial<Pick<AuthConfigRow, 'settings' | 'client_secret' | 'idp_client_secret'>>,
  ): Promise<AuthConfig | undefined> {
    const row = await this.#engine.db
      .updateTable('auth_configs')
      .set({ ...change, updated_at: Date.now() })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst()
    if (row) await this.#changes.publish('connections', [row.project_id])
    return row && toAuthConfig(row)
  }

  async remove({ id, project_id: projectId }: Pick<AuthConfig, 'id' | 'project_id'>): Promise<void> {
    await this.#engine.db.deleteFrom('auth_configs').where('id', '=', id).execute()
    await this.#changes.publish('connections', [projectId])
  }
}
