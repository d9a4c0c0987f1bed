import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { SecretRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { Secret } from '../model/secret.ts'

const toSecret = (row: SecretRow): Secret => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  description: row.description,
  source: row.env !== null ? 'env' : row.file !== null ? 'file' : 'stored',
  env: row.env,
  file: row.file,
  rotated_at: iso(row.rotated_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** The value, encrypted, or the environment variable or file that has it. */
export type SecretSource = Pick<SecretRow, 'value' | 'env' | 'file'>
export type NamedSecret = Pick<SecretRow, 'id' | 'name'> & SecretSource
export type SecretDraft = Pick<SecretRow, 'name' | 'description'> & SecretSource

export class Secrets {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  get #db() {
    return this.#engine.db
  }

  /** Change events contain the project id, because tools reference secrets by name within their project. */
  async create(projectId: string, id: string, draft: SecretDraft): Promise<Secret> {
    const now = Date.now()
    const row: SecretRow = { id, project_id: projectId, ...draft, rotated_at: now, created_at: now, updated_at: now }
    await uniquely(this.#engine, 'secret', draft.name, () => this.#db.insertInto('secrets').values(row).execute())
    await this.#changes.publish('secrets', [projectId])
    return toSecret(row)
  }

  async find(id: string): Promise<Secret | undefined> {
    const row = await this.#db.selectFrom('secrets').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toSecret(row)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<Secret>> {
    let where = this.#db.selectFrom('secrets')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toSecret)
  }

  /** The secrets of a project with these names, and where their values are. */
  named(projectId: string, names: readonly string[]): Promise<NamedSecret[]> {
    return this.#db
      .selectFrom('secrets')
      .select(['id', 'name', 'value', 'env', 'file'])
      .where('project_id', '=', projectId)
      .where('name', 'in', names)
      .execute()
  }

  async update(id: string, change: Partial<SecretDraft>): Promise<Secret | undefined> {
    const now = Date.now()
    const isRotated = change.value !== undefined
    const row = await uniquely(this.#engine, 'secret', change.name ?? '', () =>
      this.#db
        .updateTable('secrets')
        .set({ ...change, ...(isRotated && { rotated_at: now }), updated_at: now })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    if (row) await this.#changes.publish('secrets', [row.project_id])
    return row && toSecret(row)
  }

  async remove({ id, project_id: projectId }: Pick<Secret, 'id' | 'project_id'>): Promise<void> {
    await this.#db.deleteFrom('secrets').where('id', '=', id).execute()
    await this.#changes.publish('secrets', [projectId])
  }
}
