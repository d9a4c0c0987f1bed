import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ProjectRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { Project, ProjectDraft } from '../model/project.ts'

const toProject = (row: ProjectRow): Project => ({
  id: row.id,
  name: row.name,
  approval_timeout_seconds: row.approval_timeout_seconds,
  return_origins: JSON.parse(row.return_origins ?? '[]'),
  verifier_url: row.verifier_url,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const contents = [
  'tools',
  'servers',
  'trusted_issuers',
  'skills',
  'ai_providers',
  'agents',
  'documents',
  'files',
  'webhooks',
  'secrets',
  'connections',
  'auth_configs',
  'approval_rules',
  'api_keys',
  'users',
  'access_policies',
] as const

const columnsOf = ({ approval_timeout_seconds, return_origins, verifier_url }: Partial<ProjectDraft>) => ({
  approval_timeout_seconds: approval_timeout_seconds ?? null,
  return_origins: return_origins && return_origins.length > 0 ? JSON.stringify(return_origins) : null,
  verifier_url: verifier_url ?? null,
})

export class Projects {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async create(name: string, draft: Partial<Omit<ProjectDraft, 'name'>> = {}): Promise<Project> {
    const now = Date.now()
    const row: ProjectRow = {
      id: newId('proj', now),
      name,
      ...columnsOf(draft),
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'project', name, () => this.#engine.db.insertInto('projects').values(row).execute())
    return toProject(row)
  }

  async find(id: string): Promise<Project | undefined> {
    const row = await this.#engine.db.selectFrom('projects').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toProject(row)
  }

  /** The project, if there is exactly one. */
  async findOnly(): Promise<Project | undefined> {
    const rows = await this.#engine.db.selectFrom('projects').selectAll().limit(2).execute()
    return rows.length === 1 && rows[0] ? toProject(rows[0]) : undefined
  }

  async count(): Promise<number> {
    const row = await this.#engine.db
      .selectFrom('projects')
      .select((e) => e.fn.countAll<number>().as('n'))
      .executeTakeFirstOrThrow()
    return Number(row.n)
  }

  list(window: Window, visible: Visible): Promise<Page<Project>> {
    return pageOfRows(this.#engine.db.selectFrom('projects'), window, visible, toProject, { facts: ['id'] })
  }

  async update(id: string, draft: ProjectDraft): Promise<Project | undefined> {
    const { name } = draft
    const row = await uniquely(this.#engine, 'project', name, () =>
      this.#engine.db
        .updateTable('projects')
        .set({ name, ...columnsOf(draft), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    return row && toProject(row)
  }

  /** What the project still contains. Checked before deletion. */
  async contents(id: string): Promise<string[]> {
    const held: string[] = []
    for (const table of contents) {
      const { n } = await this.#engine.db
        .selectFrom(table)
        .select((e) => e.fn.countAll<number>().as('n'))
        .where('project_id', '=', id)
        .executeTakeFirstOrThrow()
      if (Number(n) > 0) held.push(`${n} ${table.replace('_', ' ')}`)
    }
    return held
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('projects').where('id', '=', id).execute()
  }
}
