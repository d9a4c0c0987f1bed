import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ConnectionRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import {
  type Connection,
  type ConnectionOwner,
  type ConnectionSettings,
  ConnectionStatus,
  ConnectionType,
} from '../model/connection.ts'
import { iso, type Page, type Window } from '../model/page.ts'

/** What a connection is for, as it is stored: `app/<slug>` or `tool/<id>`. */
export const targetOf = ({ app, tool_id }: { app?: string | null | undefined; tool_id?: string | null | undefined }) =>
  tool_id ? `tool/${tool_id}` : `app/${app}`

export const readTarget = (target: string): { app: string | null; tool_id: string | null } => {
  const name = target.slice(target.indexOf('/') + 1)
  return target.startsWith('tool/') ? { app: null, tool_id: name } : { app: name, tool_id: null }
}

/** An owner as it is stored: `project`, or `user/<id>`. */
export const ownerKey = ({ kind, id }: { kind: 'project' | 'user'; id?: string | null | undefined }): string =>
  kind === 'user' ? `user/${id}` : 'project'

export const readOwner = (owner: string): ConnectionOwner =>
  owner === 'project' ? { kind: 'project', id: null } : { kind: 'user', id: owner.slice('user/'.length) }

const orIso = (time: number | null) => (time === null ? null : iso(time))

export const toConnection = (row: ConnectionRow): Connection => {
  const settings: ConnectionSettings = JSON.parse(row.settings)
  return {
    id: row.id,
    project_id: row.project_id,
    ...readTarget(row.target),
    type: ConnectionType.parse(row.type),
    owner: readOwner(row.owner),
    status: ConnectionStatus.parse(row.status),
    account: row.account,
    scopes: JSON.parse(row.scopes_granted),
    expires_at: orIso(row.expires_at),
    header: settings.header ?? null,
    query: settings.query ?? null,
    username: settings.username ?? null,
    client_id: settings.client_id ?? null,
    issuer: row.issuer,
    resource: row.resource,
    origins: JSON.parse(row.origins),
    error: row.error,
    last_used_at: orIso(row.last_used_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  }
}

/** What changes when a connection gets new credentials. */
export type ConnectionChange = Partial<
  Pick<
    ConnectionRow,
    | 'type'
    | 'status'
    | 'account'
    | 'settings'
    | 'secrets'
    | 'origins'
    | 'issuer'
    | 'resource'
    | 'grant_details'
    | 'scopes_requested'
    | 'scopes_granted'
    | 'expires_at'
    | 'retry_at'
    | 'failures'
    | 'error'
  >
>

export type ConnectionDraft = Pick<ConnectionRow, 'id' | 'project_id' | 'target' | 'type' | 'owner' | 'settings'> &
  ConnectionChange

export interface ConnectionFilter extends Window {
  readonly project_id?: string | undefined
  readonly target?: string | undefined
  readonly status?: string | undefined
  /** Only those of these owners. */
  readonly owners?: readonly string[] | undefined
}

export class Connections {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  get #db() {
    return this.#engine.db
  }

  async #publish(row: ConnectionRow | undefined): Promise<ConnectionRow | undefined> {
    if (row) await this.#changes.publish('connections', [row.id])
    return row
  }

  /** The event contains the project as well, because it may now have other connections. */
  async #publishProject({ id, project_id: projectId }: ConnectionRow): Promise<void> {
    await this.#changes.publish('connections', [projectId, id])
  }

  /** Fails with `NAME_TAKEN` if the owner already has a connection for the target. */
  async create(draft: ConnectionDraft): Promise<ConnectionRow> {
    const now = Date.now()
    const row: ConnectionRow = { ...empty, generation: 1, ...draft, created_at: now, updated_at: now }
    await uniquely(this.#engine, 'connection', draft.target.replace('/', ' '), () =>
      this.#db.insertInto('connections').values(row).execute(),
    )
    await this.#publishProject(row)
    return row
  }

  async find(id: string): Promise<Connection | undefined> {
    const row = await this.findRow(id)
    return row && toConnection(row)
  }

  findRow(id: string): Promise<ConnectionRow | undefined> {
    return this.#db.selectFrom('connections').selectAll().where('id', '=', id).executeTakeFirst()
  }

  list(filter: ConnectionFilter, visible: Visible): Promise<Page<Connection>> {
    let where = this.#db.selectFrom('connections')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    if (filter.target) where = where.where('target', '=', filter.target)
    if (filter.status) where = where.where('status', '=', filter.status)
    if (filter.owners) where = where.where('owner', 'in', filter.owners)
    return pageOfRows(where, filter, visible, toConnection)
  }

  findFor(projectId: string, target: string, owner: string): Promise<ConnectionRow | undefined> {
    return this.#db
      .selectFrom('connections')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('target', '=', target)
      .where('owner', '=', owner)
      .executeTakeFirst()
  }

  ofTarget(projectId: string, target: string): Promise<ConnectionRow[]> {
    return this.#db
      .selectFrom('connections')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('target', '=', target)
      .execute()
  }

  /** The targets of a project that have connections. */
  async targets(projectId: string): Promise<string[]> {
    const rows = await this.#db
      .selectFrom('connections')
      .select('target')
      .distinct()
      .where('project_id', '=', projectId)
      .execute()
    return rows.map(({ target }) => target)
  }

  /** Any usable connection for one of the targets: the project's if there is one, otherwise the one used last. */
  findAny(projectId: string, targets: readonly string[]): Promise<ConnectionRow | undefined> {
    return this.#db
      .selectFrom('connections')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('target', 'in', targets)
      .where('status', 'in', ['active', 'expiring'])
      .orderBy((e) => e.case().when('owner', '=', 'project').then(0).else(1).end())
      .orderBy('last_used_at', 'desc')
      .executeTakeFirst()
  }

  /**
   * Replaces credentials or settings, even if someone else is changing them, and increments `generation`. A refresh that is under
   * way then finds that its result is outdated.
   */
  async replace(id: string, change: ConnectionChange): Promise<ConnectionRow | undefined> {
    const row = await this.#db
      .updateTable('connections')
      .set((e) => ({
        ...change,
        generation: e('generation', '+', 1),
        lease_by: null,
        lease_until: null,
        updated_at: Date.now(),
      }))
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst()
    return this.#publish(row)
  }

  /** The right to refresh this generation. Undefined if another process has it, or if it was refreshed already. */
  lease(id: string, generation: number, by: string, until: number): Promise<ConnectionRow | undefined> {
    return this.#db
      .updateTable('connections')
      .set({ lease_by: by, lease_until: until })
      .where('id', '=', id)
      .where('generation', '=', generation)
      .where((e) => e.or([e('lease_until', 'is', null), e('lease_until', '<', Date.now())]))
      .returningAll()
      .executeTakeFirst()
  }

  /** Stores the result of a refresh. Undefined if the lease was lost or the credentials were replaced meanwhile. */
  async settle(
    { id, generation }: Pick<ConnectionRow, 'id' | 'generation'>,
    by: string,
    change: ConnectionChange,
  ): Promise<ConnectionRow | undefined> {
    const isNew = change.secrets !== undefined
    const row = await this.#db
      .updateTable('connections')
      .set({
        ...change,
        ...(isNew && { generation: generation + 1 }),
        lease_by: null,
        lease_until: null,
        updated_at: Date.now(),
      })
      .where('id', '=', id)
      .where('generation', '=', generation)
      .where('lease_by', '=', by)
      .returningAll()
      .executeTakeFirst()
    return this.#publish(row)
  }

  /** Changes the status once: of several processes that notice the same, one gets the row. */
  async transition(
    { id, generation, status }: Pick<ConnectionRow, 'id' | 'generation' | 'status'>,
    change: ConnectionChange & { readonly status: ConnectionStatus },
  ): Promise<ConnectionRow | undefined> {
    const row = await this.#db
      .updateTable('connections')
      .set({ ...change, updated_at: Date.now() })
      .where('id', '=', id)
      .where('generation', '=', generation)
      .where('status', '=', status)
      .returningAll()
      .executeTakeFirst()
    return this.#publish(row)
  }

  /** No change event: this does not affect calls. */
  async touch(id: string, usedAt: number): Promise<void> {
    await this.#db.updateTable('connections').set({ last_used_at: usedAt }).where('id', '=', id).execute()
  }

  /** Connections whose token expires before a time. */
  expiringBefore(time: number): Promise<Pick<ConnectionRow, 'id' | 'expires_at' | 'retry_at'>[]> {
    return this.#db
      .selectFrom('connections')
      .select(['id', 'expires_at', 'retry_at'])
      .where('status', 'in', ['active', 'expiring'])
      .where('expires_at', '<', time)
      .execute()
  }

  async remove(id: string): Promise<void> {
    const row = await this.#db.deleteFrom('connections').where('id', '=', id).returningAll().executeTakeFirst()
    if (row) await this.#publishProject(row)
  }
}

const empty = {
  status: 'active',
  account: null,
  secrets: null,
  origins: '[]',
  issuer: null,
  resource: null,
  grant_details: null,
  scopes_requested: '[]',
  scopes_granted: '[]',
  expires_at: null,
  lease_by: null,
  lease_until: null,
  retry_at: null,
  failures: 0,
  error: null,
  last_used_at: null,
}
