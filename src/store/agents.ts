import type { Engine } from '../db/engine.ts'
import { parse, print } from '../db/json.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { AgentRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import type { Agent, AgentDraft } from '../model/agent.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'

const toAgent = (row: AgentRow): Agent => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  ai_provider_id: row.ai_provider_id,
  model: row.model,
  instructions: row.instructions,
  tool_ids: JSON.parse(row.tool_ids),
  active_tool_ids: parse(row.active_tool_ids),
  tool_choice: JSON.parse(row.tool_choice),
  stop_conditions: JSON.parse(row.stop_conditions),
  step_rules: JSON.parse(row.step_rules),
  max_steps: row.max_steps,
  temperature: row.temperature,
  boundary_policy: parse(row.boundary_policy),
  max_context_messages: row.max_context_messages,
  mode: row.mode,
  has_guide: row.guide_id !== null,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toColumns = (draft: AgentDraft) => ({
  name: draft.name,
  ai_provider_id: draft.ai_provider_id,
  model: draft.model,
  instructions: draft.instructions,
  tool_ids: JSON.stringify(draft.tool_ids),
  active_tool_ids: print(draft.active_tool_ids),
  tool_choice: JSON.stringify(draft.tool_choice),
  stop_conditions: JSON.stringify(draft.stop_conditions),
  step_rules: JSON.stringify(draft.step_rules),
  max_steps: draft.max_steps,
  temperature: draft.temperature,
  boundary_policy: print(draft.boundary_policy),
  max_context_messages: draft.max_context_messages,
  mode: draft.mode,
})

export class Agents {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async create(projectId: string, draft: AgentDraft): Promise<Agent> {
    const now = Date.now()
    const row: AgentRow = {
      id: newId('agt', now),
      project_id: projectId,
      ...toColumns(draft),
      guide_id: null,
      manifest: null,
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'agent', draft.name, () => this.#engine.db.insertInto('agents').values(row).execute())
    return toAgent(row)
  }

  async find(id: string): Promise<Agent | undefined> {
    const row = await this.#engine.db.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toAgent(row)
  }

  list(filter: { project_id?: string; name?: string } & Window, visible: Visible): Promise<Page<Agent>> {
    let where = this.#engine.db.selectFrom('agents')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    if (filter.name) where = where.where('name', '=', filter.name)
    return pageOfRows(where, filter, visible, toAgent)
  }

  /** The names of the agents that use a tool. */
  async namesUsing(projectId: string, toolId: string): Promise<string[]> {
    const query = this.#engine.db
      .selectFrom('agents')
      .select('name')
      .where('project_id', '=', projectId)
      .where('tool_ids', 'like', `%${JSON.stringify(toolId)}%`)
      .orderBy('name')
    return (await query.execute()).map(({ name }) => name)
  }

  async update(id: string, draft: AgentDraft): Promise<Agent | undefined> {
    const row = await uniquely(this.#engine, 'agent', draft.name, () =>
      this.#engine.db
        .updateTable('agents')
        .set({ ...toColumns(draft), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    return row && toAgent(row)
  }

  async guideOf(id: string): Promise<{ guide_id: string | null; manifest: string | null } | undefined> {
    return this.#engine.db.selectFrom('agents').select(['guide_id', 'manifest']).where('id', '=', id).executeTakeFirst()
  }

  /** Agents with a guide: of one project, or of all. */
  async guided(projectId: string | null): Promise<Agent[]> {
    let query = this.#engine.db.selectFrom('agents').selectAll().where('guide_id', 'is not', null)
    if (projectId !== null) query = query.where('project_id', '=', projectId)
    return (await query.orderBy('id').execute()).map(toAgent)
  }

  /** Turns that have started keep the guide they started with. */
  async setGuide(id: string, guide: { guide_id: string; manifest: string }): Promise<void> {
    await this.#engine.db
      .updateTable('agents')
      .set({ ...guide, updated_at: Date.now() })
      .where('id', '=', id)
      .execute()
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('agents').where('id', '=', id).execute()
  }
}
