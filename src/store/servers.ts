import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ServerRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import { openAccess, type Server, type ServerApp, type ServerDraft } from '../model/server.ts'

const toServer = (row: ServerRow): Server => ({
  id: row.id,
  project_id: row.project_id,
  slug: row.slug,
  name: row.name,
  description: row.description,
  enabled: row.enabled === 1,
  agent_mode: row.agent_mode === 1,
  code_mode: row.code_mode === 1,
  retrieve_skill: row.retrieve_skill === 1,
  pass_prompts: row.pass_prompts === 1,
  pass_resources: row.pass_resources === 1,
  tool_names: row.tool_names as Server['tool_names'],
  apps: row.apps === null ? null : JSON.parse(row.apps),
  skill_ids: row.skill_ids === null ? null : JSON.parse(row.skill_ids),
  result_limit: row.result_limit,
  resolve_tokens: row.resolve_tokens,
  auto_approve: row.auto_approve === null ? null : row.auto_approve === 1,
  approval_timeout_seconds: row.approval_timeout_seconds,
  access: row.access === null ? openAccess : JSON.parse(row.access),
  url: `/mcp/${row.slug}`,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toColumns = (draft: ServerDraft) => ({
  slug: draft.slug,
  name: draft.name,
  description: draft.description,
  enabled: Number(draft.enabled),
  agent_mode: Number(draft.agent_mode),
  code_mode: Number(draft.code_mode),
  retrieve_skill: Number(draft.retrieve_skill),
  pass_prompts: Number(draft.pass_prompts),
  pass_resources: Number(draft.pass_resources),
  tool_names: draft.tool_names,
  apps: draft.apps && JSON.stringify(draft.apps),
  skill_ids: draft.skill_ids && JSON.stringify(draft.skill_ids),
  result_limit: draft.result_limit,
  resolve_tokens: draft.resolve_tokens,
  auto_approve: draft.auto_approve === null ? null : Number(draft.auto_approve),
  approval_timeout_seconds: draft.approval_timeout_seconds,
  access: JSON.stringify(draft.access),
})

export class Servers {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  async create(projectId: string, draft: ServerDraft): Promise<Server> {
    const now = Date.now()
    const row: ServerRow = {
      id: newId('srv', now),
      project_id: projectId,
      ...toColumns(draft),
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'server', draft.slug, () =>
      this.#engine.db.insertInto('servers').values(row).execute(),
    )
    await this.#changes.publish('servers', [row.id])
    return toServer(row)
  }

  async find(id: string): Promise<Server | undefined> {
    const row = await this.#engine.db
      .selectFrom('servers')
      .selectAll()
      .where((e) => e.or([e('id', '=', id), e('slug', '=', id)]))
      .executeTakeFirst()
    return row && toServer(row)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<Server>> {
    let where = this.#engine.db.selectFrom('servers')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toServer)
  }

  /** The servers that list an app, with their entry for it. */
  async listing(projectId: string, app: string): Promise<{ slug: string; app: ServerApp }[]> {
    const rows = await this.#engine.db
      .selectFrom('servers')
      .select(['slug', 'apps'])
      .where('project_id', '=', projectId)
      .where('apps', 'is not', null)
      .orderBy('slug')
      .execute()
    return rows.flatMap(({ slug, apps }) => {
      const named = (JSON.parse(apps ?? '[]') as ServerApp[]).find((one) => one.slug === app)
      return named ? [{ slug, app: named }] : []
    })
  }

  async update(id: string, draft: ServerDraft): Promise<Server | undefined> {
    const row = await uniquely(this.#engine, 'server', draft.slug, () =>
      this.#engine.db
        .updateTable('servers')
        .set({ ...toColumns(draft), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    await this.#changes.publish('servers', [id])
    return row && toServer(row)
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('servers').where('id', '=', id).execute()
    await this.#changes.publish('servers', [id])
  }
}
