import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { parse, print } from '../db/json.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ToolRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { Tool, ToolDraft } from '../model/tool.ts'

interface Registered {
  readonly id: string
  readonly project_id: string
  readonly created_at: string
  readonly updated_at: string
}

/** A tool as it was registered, without defaults. `Credentials.open` makes one from a stored tool. */
export interface ToolRecord<Config extends object = object> extends ToolDraft<Config>, Registered {
  /** Keeps a stored tool from being used in its place: its secrets are masked. */
  readonly secrets?: never
}

/** The parts of a tool that can contain secrets, with masks, and the secrets, encrypted. Empty if there are none. */
export interface SealedParts extends Pick<ToolDraft, 'config' | 'preset_parameters'> {
  readonly secrets: string
}

/** A tool as the database has it. Safe to show to people who can change the tool. */
export interface StoredTool extends ToolDraft, Registered {
  /** Null if the row is older than this column, and its secrets are not sealed yet. */
  readonly secrets: string | null
}

export type ToolName = Pick<StoredTool, 'id' | 'name' | 'type' | 'app' | 'many_actions'>

const toTool = (row: ToolRow): StoredTool => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  type: row.type,
  type_alias: row.type_alias,
  description: row.description,
  config: JSON.parse(row.config),
  secrets: row.secrets,
  many_actions: row.many_actions === 1,
  preset_parameters: parse(row.preset_parameters),
  app: row.app,
  pin_definitions: row.pin_definitions === 1,
  level: row.level as Tool['level'],
  auto_approve: row.auto_approve === null ? null : row.auto_approve === 1,
  timeout_seconds: row.timeout_seconds,
  ask_destructive: row.ask_destructive === 1,
  approval_timeout_seconds: row.approval_timeout_seconds,
  action_settings: parse(row.action_settings),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** A draft whose secrets are sealed. */
export type SealedDraft = ToolDraft & SealedParts

const toColumns = (draft: SealedDraft) => ({
  name: draft.name,
  type: draft.type,
  type_alias: draft.type_alias ?? null,
  description: draft.description,
  config: JSON.stringify(draft.config),
  secrets: draft.secrets,
  many_actions: Number(draft.many_actions),
  preset_parameters: print(draft.preset_parameters),
  app: draft.app,
  pin_definitions: Number(draft.pin_definitions),
  level: draft.level,
  auto_approve: draft.auto_approve === null ? null : Number(draft.auto_approve),
  timeout_seconds: draft.timeout_seconds,
  ask_destructive: Number(draft.ask_destructive),
  approval_timeout_seconds: draft.approval_timeout_seconds,
  action_settings: print(draft.action_settings ?? null),
})

export class Tools {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  async create(projectId: string, id: string, draft: SealedDraft): Promise<StoredTool> {
    const now = Date.now()
    const row: ToolRow = {
      id,
      project_id: projectId,
      ...toColumns(draft),
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'tool', draft.name, () => this.#engine.db.insertInto('tools').values(row).execute())
    await this.#changes.publish('tools', [row.id])
    return toTool(row)
  }

  async find(id: string): Promise<StoredTool | undefined> {
    const row = await this.#engine.db.selectFrom('tools').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toTool(row)
  }

  list(
    filter: { project_id?: string; type?: string; name?: string } & Window,
    visible: Visible,
  ): Promise<Page<StoredTool>> {
    let where = this.#engine.db.selectFrom('tools')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    if (filter.type) where = where.where('type', '=', filter.type)
    if (filter.name) where = where.where('name', '=', filter.name)
    return pageOfRows(where, filter, visible, toTool)
  }

  /** Tools that may have an action `namespace:name`. The namespace is the name or the app of a tool with many actions. */
  async offering(projectId: string, { namespace, name }: { namespace: string; name: string }): Promise<StoredTool[]> {
    const rows = await this.#engine.db
      .selectFrom('tools')
      .selectAll()
      .where('project_id', '=', projectId)
      .where((e) =>
        e.or([
          e.and([e('many_actions', '=', 1), e.or([e('name', '=', namespace), e('app', '=', namespace)])]),
          e.and([e('many_actions', '=', 1), e('app', 'is', null), e(e.fn('lower', ['name']), '=', namespace)]),
          e.and([
            e('many_actions', '=', 0),
            e('name', '=', name),
            e(e.fn.coalesce('app', e.val('tools')), '=', namespace),
          ]),
        ]),
      )
      .orderBy('id')
      .limit(20)
      .execute()
    return rows.map(toTool)
  }

  /** The names of all tools of a project. */
  async names(projectId: string): Promise<ToolName[]> {
    const columns = ['id', 'name', 'type', 'app', 'many_actions'] as const
    const rows = await this.#engine.db.selectFrom('tools').select(columns).where('project_id', '=', projectId).execute()
    return rows.map((row) => ({ ...row, many_actions: row.many_actions === 1 }))
  }

  /** Tools of a project whose config, with its secrets masked, contains a text. In the text, `_` and `%` match anything. */
  async containing(projectId: string, text: string): Promise<Pick<StoredTool, 'id' | 'name' | 'config'>[]> {
    const rows = await this.#engine.db
      .selectFrom('tools')
      .select(['id', 'name', 'config'])
      .where('project_id', '=', projectId)
      .where('config', 'like', `%${text}%`)
      .orderBy('name')
      .execute()
    return rows.map(({ config, ...row }) => ({ ...row, config: JSON.parse(config) }))
  }

  async ofType(type: string): Promise<StoredTool[]> {
    const rows = await this.#engine.db.selectFrom('tools').selectAll().where('type', '=', type).orderBy('id').execute()
    return rows.map(toTool)
  }

  /** Tools whose secrets are not sealed yet, with ids after `last`. */
  async unsealed(last: string, limit: number): Promise<StoredTool[]> {
    const rows = await this.#engine.db
      .selectFrom('tools')
      .selectAll()
      .where('secrets', 'is', null)
      .where('id', '>', last)
      .orderBy('id')
      .limit(limit)
      .execute()
    return rows.map(toTool)
  }

  /** False if the tool has changed since it was read. */
  async seal({ id, updated_at }: StoredTool, sealed: SealedParts): Promise<boolean> {
    const { numUpdatedRows } = await this.#engine.db
      .updateTable('tools')
      .set({
        config: JSON.stringify(sealed.config),
        preset_parameters: print(sealed.preset_parameters),
        secrets: sealed.secrets,
      })
      .where('id', '=', id)
      .where('updated_at', '=', Date.parse(updated_at))
      .where('secrets', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    await this.#changes.publish('tools', [id])
    return true
  }

  async update(id: string, draft: SealedDraft): Promise<StoredTool | undefined> {
    const row = await uniquely(this.#engine, 'tool', draft.name, () =>
      this.#engine.db
        .updateTable('tools')
        .set({ ...toColumns(draft), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    await this.#changes.publish('tools', [id])
    return row && toTool(row)
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('tools').where('id', '=', id).execute()
    await this.#changes.publish('tools', [id])
  }
}
