import { sql } from 'kysely'
import type { Engine } from '../db/engine.ts'

/** Tables whose records can be referenced by name. */
export type NamedTable =
  | 'tools'
  | 'agents'
  | 'servers'
  | 'skills'
  | 'ai_providers'
  | 'access_policies'
  | 'approval_rules'
  | 'api_keys'
  | 'users'
  | 'webhooks'
  | 'secrets'
  | 'projects'

export interface NamedRecord {
  readonly id: string
  readonly name: string
  readonly project_id: string | null
  /** Only for tools. */
  readonly many_actions: number | null
  readonly app: string | null
}

/** Enough for suggestions. */
const most = 1000

/** The names of records: of one project and of those without a project, or of all projects. */
export class Names {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Whether a reference is an id, or the slug of a server. */
  async isId(table: NamedTable, reference: string): Promise<boolean> {
    const slug = table === 'servers' ? sql`or slug = ${reference}` : sql``
    const { rows } = await sql`select 1 from ${sql.table(table)} where id = ${reference} ${slug} limit 1`.execute(
      this.#engine.db,
    )
    return rows.length > 0
  }

  find(table: NamedTable, names: readonly string[], projectId: string | null): Promise<NamedRecord[]> {
    return this.#select(table, projectId, sql`name in (${sql.join(names)})`)
  }

  all(table: NamedTable, projectId: string | null): Promise<NamedRecord[]> {
    return this.#select(table, projectId, sql`1 = 1`)
  }

  async #select(table: NamedTable, projectId: string | null, where: ReturnType<typeof sql>): Promise<NamedRecord[]> {
    const project = sql.ref(table === 'projects' ? 'id' : 'project_id')
    const within = projectId === null ? sql`` : sql`and (${project} = ${projectId} or ${project} is null)`
    const ofTools = table === 'tools' ? sql`many_actions, app` : sql`null as many_actions, null as app`
    const { rows } = await sql<NamedRecord>`
      select id, name, ${project} as project_id, ${ofTools} from ${sql.table(table)}
      where ${where} ${within} order by id limit ${sql.lit(most)}`.execute(this.#engine.db)
    return rows
  }
}
