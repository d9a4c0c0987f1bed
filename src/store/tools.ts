import type { Engine } from '../db/engine.ts'
import { parse, print } from '../db/json.ts'
import type { Notices } from '../db/notices.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ToolRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { Tool, ToolDraft } from '../model/tool.ts'

/** A tool as it was registered, with what was left out still left out. */
export interface ToolRecord extends ToolDraft {
  readonly id: string
  readonly project_id: string
  readonly created_at: string
  readonly updated_at: string
}

export type ToolName = Pick<ToolRecord, 'id' | 'name' | 'type' | 'app'>

const toTool = (row: ToolRow): ToolRecord => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  type: row.type,
  type_alias: row.type_alias,
  description: row.description,
  parameters: parse(row.parameters),
  execute: parse(row.execute),
  mcp: parse(row.mcp),
  actions: parse(row.actions),
  preset_parameters: parse(row.preset_parameters),
  app: row.app,
  pin_definitions: row.pin_definitions === 1,
  level: row.level as Tool['level'],
  auto_approve: row.auto_approve === null ? null : row.auto_approve === 1,
  timeout_seconds: row.timeout_seconds,
  ask_destructive: row.ask_destructive === 1,
  approval_timeout_seconds: row.approval_timeout_seconds,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toColumns = (draft: ToolDraft) => ({
  name: draft.name,
  type: draft.type,
  type_alias: draft.type_alias ?? null,
  description: draft.description,
  parameters: print(draft.parameters),
  execute: print(draft.execute),
  mcp: print(draft.mcp),
  actions: print(draft.actions),
  preset_parameters: print(draft.preset_parameters),
  app: draft.app,
  pin_definitions: Number(draft.pin_definitions),
  level: draft.level,
  auto_approve: draft.auto_approve === null ? null : Number(draft.auto_approve),
  timeout_seconds: draft.timeout_seconds,
  ask_destructive: Number(draft.ask_destructive),
  approval_timeout_seconds: draft.approval_timeout_seconds,
})

export class Tools {
  readonly #engine: Engine
  readonly #notices: Notices

  constructor(engine: Engine, notices: Notices) {
    this.#engine = engine
    this.#notices = notices
  }

  async create(projectId: string, draft: ToolDraft): Promise<ToolRecord> {
    const now = Date.now()
    const row: ToolRow = {
      id: newId('tool', now),
      project_id: projectId,
      ...toColumns(draft),
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'tool', draft.name, () => this.#engine.db.insertInto('tools').values(row).execute())
    await this.#notices.tell('tools', [row.id])
    return toTool(row)
  }

  async find(id: string): Promise<ToolRecord | undefined> {
    const row = await this.#engine.db.selectFrom('tools').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toTool(row)
  }

  list(
    filter: { project_id?: string; type?: string; name?: string } & Window,
    visible: Visible,
  ): Promise<Page<ToolRecord>> {
    let where = this.#engine.db.selectFrom('tools')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    if (filter.type) where = where.where('type', '=', filter.type)
    if (filter.name) where = where.where('name', '=', filter.name)
    return pageOfRows(where, filter, visible, toTool)
  }

  /** What all tools of a project are called. */
  names(projectId: string): Promise<ToolName[]> {
    const columns = ['id', 'name', 'type', 'app'] as const
    return this.#engine.db.selectFrom('tools').select(columns).where('project_id', '=', projectId).execute()
  }

  async ofType(type: string): Promise<ToolRecord[]> {
    const rows = await this.#engine.db.selectFrom('tools').selectAll().where('type', '=', type).orderBy('id').execute()
    return rows.map(toTool)
  }

  async update(id: string, draft: ToolDraft): Promise<ToolRecord | undefined> {
    const row = await uniquely(this.#engine, 'tool', draft.name, () =>
      this.#engine.db
        .updateTable('tools')
        .set({ ...toColumns(draft), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    await this.#notices.tell('tools', [id])
    return row && toTool(row)
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('tools').where('id', '=', id).execute()
    await this.#notices.tell('tools', [id])
  }
}
