import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { SkillRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { Skill, SkillDraft } from '../model/skill.ts'

const toSkill = (row: SkillRow): Skill => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  summary: row.summary,
  category: row.category,
  apps: JSON.parse(row.apps),
  content: row.content,
  enabled: row.enabled === 1,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toColumns = (draft: SkillDraft) => ({
  name: draft.name,
  summary: draft.summary,
  category: draft.category,
  apps: JSON.stringify(draft.apps),
  content: draft.content,
  enabled: Number(draft.enabled),
})

export class Skills {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  async create(projectId: string, draft: SkillDraft): Promise<Skill> {
    const now = Date.now()
    const row: SkillRow = {
      id: newId('skill', now),
      project_id: projectId,
      ...toColumns(draft),
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'skill', draft.name, () => this.#engine.db.insertInto('skills').values(row).execute())
    await this.#changes.publish('skills', [row.id])
    return toSkill(row)
  }

  async find(id: string): Promise<Skill | undefined> {
    const row = await this.#engine.db.selectFrom('skills').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toSkill(row)
  }

  async findByName(projectId: string, name: string): Promise<Skill | undefined> {
    const row = await this.#engine.db
      .selectFrom('skills')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('name', '=', name)
      .executeTakeFirst()
    return row && toSkill(row)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<Skill>> {
    let where = this.#engine.db.selectFrom('skills')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toSkill)
  }

  /** Enabled skills by name: all of a project's, or those with the given ids. */
  async offered(projectId: string, ids: readonly string[] | null): Promise<Skill[]> {
    if (ids?.length === 0) return []
    let query = this.#engine.db
      .selectFrom('skills')
      .selectAll()
      .where('project_id', '=', projectId)
      .where('enabled', '=', 1)
    if (ids) query = query.where('id', 'in', ids)
    return (await query.orderBy('name').orderBy('id').execute()).map(toSkill)
  }

  async update(id: string, draft: SkillDraft): Promise<Skill | undefined> {
    const row = await uniquely(this.#engine, 'skill', draft.name, () =>
      this.#engine.db
        .updateTable('skills')
        .set({ ...toColumns(draft), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    await this.#changes.publish('skills', [id])
    return row && toSkill(row)
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('skills').where('id', '=', id).execute()
    await this.#changes.publish('skills', [id])
  }
}
