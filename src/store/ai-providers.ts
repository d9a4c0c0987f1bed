import { sql } from 'kysely'
import type { Engine } from '../db/engine.ts'
import { parse, print } from '../db/json.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { AiProviderRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import type { AiProvider, Prices, ProviderType } from '../model/ai-provider.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { ReplayStep } from '../model/replay-script.ts'

/** A provider as it is stored: its key and header values are sealed. */
export interface AiProviderRecord {
  readonly id: string
  readonly project_id: string
  readonly name: string
  readonly type: ProviderType
  readonly base_url: string | null
  readonly default_model: string | null
  readonly prices: Prices | null
  readonly record: boolean
  readonly timeout_seconds: number
  readonly max_retries: number
  /** Sealed at `ai_providers/{id}/api_key`. */
  readonly api_key: string | null
  readonly api_key_hint: string | null
  /** A JSON object, sealed at `ai_providers/{id}/headers`. */
  readonly headers: string | null
  readonly header_names: readonly string[] | null
  readonly script: string | null
  readonly created_at: string
  readonly updated_at: string
}
export type AiProviderDraft = Omit<AiProviderRecord, 'id' | 'project_id' | 'created_at' | 'updated_at'>

const toListed = (row: Omit<AiProviderRow, 'script'>): Omit<AiProviderRecord, 'script'> => ({
  ...row,
  type: row.type as AiProvider['type'],
  prices: parse(row.prices),
  record: row.record === 1,
  header_names: parse(row.header_names),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toProvider = (row: AiProviderRow): AiProviderRecord => ({ ...toListed(row), script: row.script })

const columns = [
  'id',
  'project_id',
  'name',
  'type',
  'base_url',
  'default_model',
  'prices',
  'record',
  'timeout_seconds',
  'max_retries',
  'api_key',
  'api_key_hint',
  'headers',
  'header_names',
  'created_at',
  'updated_at',
] as const

const toColumns = (draft: AiProviderDraft) => ({
  name: draft.name,
  type: draft.type,
  base_url: draft.base_url,
  default_model: draft.default_model,
  prices: print(draft.prices),
  record: Number(draft.record),
  timeout_seconds: draft.timeout_seconds,
  max_retries: draft.max_retries,
  api_key: draft.api_key,
  api_key_hint: draft.api_key_hint,
  headers: draft.headers,
  header_names: print(draft.header_names),
  script: draft.script,
})

/** How many recorded steps are kept per provider. The oldest are removed. */
const maxRecorded = 200

export class AiProviders {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** The id is passed in, because sealed values are bound to it. */
  async create(id: string, projectId: string, draft: AiProviderDraft): Promise<AiProviderRecord> {
    const now = Date.now()
    const row: AiProviderRow = { id, project_id: projectId, ...toColumns(draft), created_at: now, updated_at: now }
    await uniquely(this.#engine, 'AI provider', draft.name, () =>
      this.#engine.db.insertInto('ai_providers').values(row).execute(),
    )
    return toProvider(row)
  }

  async find(id: string): Promise<AiProviderRecord | undefined> {
    const row = await this.#engine.db.selectFrom('ai_providers').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toProvider(row)
  }

  /** Without scripts, which can be long. */
  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<Omit<AiProviderRecord, 'script'>>> {
    let where = this.#engine.db.selectFrom('ai_providers')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toListed, { columns })
  }

  async update(id: string, draft: AiProviderDraft): Promise<AiProviderRecord | undefined> {
    const row = await uniquely(this.#engine, 'AI provider', draft.name, () =>
      this.#engine.db
        .updateTable('ai_providers')
        .set({ ...toColumns(draft), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    return row && toProvider(row)
  }

  /** The names of agents that use it, up to a limit. */
  async dependents(id: string): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`
      select name from agents where ai_provider_id = ${id} order by name limit 5`.execute(this.#engine.db)
    return rows.map(({ name }) => `the agent "${name}"`)
  }

  /** Returns whether it was deleted. A provider that an agent uses is not. */
  async remove(id: string): Promise<boolean> {
    const { rows } = await sql<{ id: string }>`
      delete from ai_providers where id = ${id}
      and not exists (select 1 from agents where ai_provider_id = ${id}) returning id`.execute(this.#engine.db)
    if (rows.length > 0) await this.forgetRecorded(id)
    return rows.length > 0
  }

  async addRecorded(id: string, step: ReplayStep): Promise<void> {
    const { db } = this.#engine
    await db
      .insertInto('recorded_steps')
      .values({ id: newId('rec'), ai_provider_id: id, step: JSON.stringify(step) })
      .execute()
    const oldest = await db
      .selectFrom('recorded_steps')
      .select('id')
      .where('ai_provider_id', '=', id)
      .orderBy('id', 'desc')
      .offset(maxRecorded)
      .limit(1)
      .executeTakeFirst()
    if (!oldest) return
    await db.deleteFrom('recorded_steps').where('ai_provider_id', '=', id).where('id', '<=', oldest.id).execute()
  }

  async forgetRecorded(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('recorded_steps').where('ai_provider_id', '=', id).execute()
  }

  /** In recording order. */
  async recorded(id: string): Promise<ReplayStep[]> {
    const rows = await this.#engine.db
      .selectFrom('recorded_steps')
      .select('step')
      .where('ai_provider_id', '=', id)
      .orderBy('id')
      .execute()
    return rows.map(({ step }) => JSON.parse(step))
  }
}
