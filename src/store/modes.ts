import { Cached } from '../db/cached.ts'
import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { parse, print } from '../db/json.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ModeRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { newId } from '../model/ids.ts'
import type { Mode, ModeDraft } from '../model/mode.ts'
import { iso, type Page, type Window } from '../model/page.ts'

const toMode = (row: ModeRow): Mode => ({
  id: row.id,
  project_id: row.project_id,
  slug: row.slug,
  name: row.name,
  description: row.description,
  levels: JSON.parse(row.levels),
  servers: parse(row.servers),
  tools: parse(row.tools),
  groups: parse(row.groups),
  sign_in_within_seconds: row.sign_in_within_seconds,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toRow = ({ levels, servers, tools, groups, ...draft }: Partial<ModeDraft>): Partial<ModeRow> => ({
  ...draft,
  ...(levels && { levels: JSON.stringify(levels) }),
  ...(servers !== undefined && { servers: print(servers) }),
  ...(tools !== undefined && { tools: print(tools) }),
  ...(groups !== undefined && { groups: print(groups) }),
})

export class Modes {
  readonly #engine: Engine
  readonly #changes: ChangeEvents
  /** By project and slug, for calls. */
  readonly #known: Cached<Mode>

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
    this.#known = new Cached(changes, { clearOn: ['modes'] })
  }

  async create(projectId: string, draft: ModeDraft): Promise<Mode> {
    const now = Date.now()
    const own = { id: newId('mode', now), project_id: projectId, created_at: now, updated_at: now }
    const row = { ...toRow(draft), ...own } as ModeRow
    await uniquely(this.#engine, 'mode', draft.slug, () => this.#engine.db.insertInto('modes').values(row).execute())
    await this.#changes.publish('modes', [row.id])
    return toMode(row)
  }

  async find(id: string): Promise<Mode | undefined> {
    const row = await this.#engine.db.selectFrom('modes').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toMode(row)
  }

  /** The mode of a project that calls name by its slug. */
  async named(projectId: string, slug: string): Promise<Mode | undefined> {
    const key = `${projectId} ${slug}`
    return this.#known.peek(key) ?? this.#known.find(key, () => this.#load(projectId, slug))
  }

  async #load(projectId: string, slug: string): Promise<Mode | undefined> {
    const { db } = this.#engine
    const query = db.selectFrom('modes').selectAll().where('project_id', '=', projectId).where('slug', '=', slug)
    const row = await query.executeTakeFirst()
    return row && toMode(row)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<Mode>> {
    let where = this.#engine.db.selectFrom('modes')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toMode)
  }

  async update(id: string, change: Partial<ModeDraft>): Promise<Mode | undefined> {
    const row = await uniquely(this.#engine, 'mode', change.slug ?? '', () =>
      this.#engine.db
        .updateTable('modes')
        .set({ ...toRow(change), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    await this.#changes.publish('modes', [id])
    return row && toMode(row)
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('modes').where('id', '=', id).execute()
    await this.#changes.publish('modes', [id])
  }
}
