import type { Transaction } from 'kysely'
import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { parse, print } from '../db/json.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { SessionEventRow, SessionRow, Tables } from '../db/tables.ts'
import type { JsonObject } from '../lib/json.ts'
import { firstIdAt, newId } from '../model/ids.ts'
import type { CallerState } from '../model/mode.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import {
  type EventData,
  type EventKind,
  type EventSource,
  emptyState,
  type GuideState,
  type RoutineRunState,
  type Session,
  type SessionEvent,
} from '../model/session.ts'
import { type NewGeneration, rowOf } from './generations.ts'
import { subscribersTo } from './webhooks.ts'

/** Access policies can name the sessions of an agent by this path. */
export const pathOf = (agentId: string): string => `/agents/${agentId}`

/** A session with what its turns need. */
export interface SessionRecord extends Session {
  readonly path: string
  readonly wanted: number | null
  /** Events before this offset have been published. */
  readonly published: number
  readonly state: GuideState
  readonly run: RoutineRunState | null
  /** The mode and the sign-in of the request that sent the latest message. */
  readonly caller: CallerState
}

const toSession = (row: SessionRow): SessionRecord => {
  const state: GuideState = JSON.parse(row.state)
  return {
    id: row.id,
    project_id: row.project_id,
    agent_id: row.agent_id,
    path: row.path,
    end_user_id: row.end_user_id,
    title: row.title,
    status: row.turn_id === null && row.wanted === null ? 'ready' : 'processing',
    generation_id: row.turn_id,
    next_offset: row.next_offset,
    metadata: JSON.parse(row.metadata),
    mode: row.mode,
    routines: [...state.routines],
    principal: { id: row.principal_id, name: row.principal_name },
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
    wanted: row.wanted,
    published: row.published,
    state,
    run: parse(row.run),
    caller: parse(row.caller) ?? {},
  }
}

const toEvent = (row: SessionEventRow): SessionEvent => ({
  id: row.id,
  session_id: row.session_id,
  offset: row.position,
  kind: row.kind as EventKind,
  source: row.source as EventSource,
  trace_id: row.trace_id,
  generation_id: row.generation_id,
  created_at: iso(row.created_at),
  ...(JSON.parse(row.data) as EventData),
})

export interface NewSession {
  readonly id?: string
  readonly project_id: string
  readonly agent_id: string
  readonly end_user_id: string | null
  readonly title: string | null
  readonly metadata: JsonObject
  readonly mode?: string | null
  readonly principal: { readonly id: string; readonly name: string }
  readonly state?: GuideState
  readonly run?: RoutineRunState
}

/** Who a turn runs as. */
export interface TurnCaller {
  readonly id: string
  readonly name: string
  readonly caller?: CallerState
}

export interface NewEvent {
  readonly kind: EventKind
  readonly source: EventSource
  readonly data: EventData
  readonly trace_id?: string | null
  readonly generation_id?: string | null
  /** An event with the key of an earlier one is not appended. */
  readonly key?: string
}

export interface EventFilter {
  readonly min_offset: number
  readonly kinds?: readonly EventKind[] | undefined
  readonly sources?: readonly EventSource[] | undefined
  readonly trace_id?: string | undefined
  /** Only events before this offset. */
  readonly before?: number | undefined
  readonly limit: number
}

type Tx = Transaction<Tables>

/**
 * Sessions and their events. Whatever appends an event first updates the row of the session, which locks it. So offsets
 * become visible in order, and a reader that has seen one has seen all before it.
 */
export class Sessions {
  readonly #engine: Engine
  readonly #changes: ChangeEvents
  readonly #unpublished = new Set<(id: string) => void>()

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  get #db() {
    return this.#engine.db
  }

  /** Called after this process has appended events that a webhook subscribes to. */
  onUnpublished(listener: (id: string) => void): void {
    this.#unpublished.add(listener)
  }

  async create({ principal, id, metadata, state, run, mode = null, ...fresh }: NewSession): Promise<SessionRecord> {
    const now = Date.now()
    const row: SessionRow = {
      id: id ?? newId('sess', now),
      ...fresh,
      path: pathOf(fresh.agent_id),
      principal_id: principal.id,
      principal_name: principal.name,
      caller: null,
      mode,
      next_offset: 0,
      published: 0,
      wanted: null,
      turn_id: null,
      turn_offset: null,
      created_at: now,
      updated_at: now,
      run: run ? JSON.stringify(run) : null,
      metadata: JSON.stringify(metadata),
      state: JSON.stringify(state ?? emptyState),
    }
    await this.#db.insertInto('sessions').values(row).execute()
    return toSession(row)
  }

  async find(id: string): Promise<SessionRecord | undefined> {
    const row = await this.#db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toSession(row)
  }

  list(
    filter: { project_id?: string; agent_id?: string; end_user_id?: string } & Window,
    visible: Visible,
  ): Promise<Page<SessionRecord>> {
    let where = this.#db.selectFrom('sessions')
    for (const field of ['project_id', 'agent_id', 'end_user_id'] as const) {
      const value = filter[field]
      if (value !== undefined) where = where.where(field, '=', value)
    }
    return pageOfRows(where, filter, visible, toSession, {
      order: 'desc',
      facts: ['id', 'project_id', 'path'],
    })
  }

  /** Replaces the given top-level fields of the metadata. Null removes one. */
  async mergeMetadata(
    id: string,
    change: JsonObject,
    fields: { title?: string | null; mode?: string | null } = {},
  ): Promise<void> {
    await this.#db.transaction().execute(async (tx) => {
      const row = await this.#locked(tx, id)
      if (!row) return
      const merged = { ...(JSON.parse(row.metadata) as JsonObject), ...change }
      for (const [key, value] of Object.entries(change)) if (value === null) delete merged[key]
      await tx
        .updateTable('sessions')
        .set({ metadata: JSON.stringify(merged), ...fields })
        .where('id', '=', id)
        .execute()
    })
    await this.#changed(id)
  }

  /** Stores the output of a think node, and removes those of nodes that it makes obsolete. */
  async setStepOutput(id: string, node: string, output: unknown, obsolete: readonly string[] = []): Promise<void> {
    await this.#db.transaction().execute(async (tx) => {
      const row = await this.#locked(tx, id)
      if (!row) return
      const metadata = JSON.parse(row.metadata) as JsonObject & { step_outputs?: JsonObject }
      const step_outputs = { ...metadata.step_outputs, ...(output !== undefined && { [node]: output as never }) }
      for (const gone of obsolete) delete step_outputs[gone]
      await tx
        .updateTable('sessions')
        .set({ metadata: JSON.stringify({ ...metadata, step_outputs }) })
        .where('id', '=', id)
        .execute()
    })
  }

  async settleRun(id: string, run: RoutineRunState): Promise<void> {
    await this.#db
      .updateTable('sessions')
      .set({ run: JSON.stringify(run), updated_at: Date.now() })
      .where('id', '=', id)
      .execute()
    await this.#changed(id)
  }

  /** Removes sessions with their events, and with their turns as far as these are over. */
  async remove(...ids: string[]): Promise<void> {
    await this.#db.transaction().execute(async (tx) => {
      const turns = tx
        .selectFrom('generations')
        .select('id')
        .where('session_id', 'in', ids)
        .where('status', 'not in', ['in_progress', 'requires_action'])
      await tx.deleteFrom('guide_answers').where('generation_id', 'in', turns).execute()
      await tx.deleteFrom('generation_calls').where('generation_id', 'in', turns).execute()
      await tx.deleteFrom('generation_steps').where('generation_id', 'in', turns).execute()
      await tx.deleteFrom('generations').where('id', 'in', turns).execute()
      await tx.deleteFrom('sessions').where('id', 'in', ids).execute()
      await tx.deleteFrom('session_events').where('session_id', 'in', ids).execute()
    })
    await this.#changes.publish('sessions', ids)
  }

  /** Removes sessions in which nothing has happened since. One with a turn in progress stays. Returns their number. */
  async removeBefore(time: number, limit = 100): Promise<number> {
    let removed = 0
    for (;;) {
      const rows = await this.#db
        .selectFrom('sessions')
        .select('id')
        .where('id', '<', firstIdAt('sess', time))
        .where('updated_at', '<', time)
        .where('turn_id', 'is', null)
        .where('wanted', 'is', null)
        .limit(limit)
        .execute()
      if (rows.length === 0) return removed
      await this.remove(...rows.map(({ id }) => id))
      removed += rows.length
    }
  }

  /**
   * Appends events. One whose key exists already is left out, and the existing one is returned in its place. With `wanted`, a
   * turn has to answer the last one. Undefined if there is no such session.
   */
  async append(
    id: string,
    events: readonly NewEvent[],
    { wanted = false, as }: { wanted?: boolean; as?: TurnCaller | undefined } = {},
  ): Promise<{ event: SessionEvent; isNew: boolean }[] | undefined> {
    const change = as && { principal_id: as.id, principal_name: as.name, caller: print(as.caller ?? null) }
    const appended = await this.#db.transaction().execute(async (tx) => {
      const row = await this.#locked(tx, id)
      return row && this.#append(tx, row, events, wanted ? 'last' : undefined, change)
    })
    if (appended?.all.some(({ isNew }) => isNew)) await this.#appended(id, appended)
    return appended?.all
  }

  /** The row is locked until the end of the transaction. */
  #locked(tx: Tx, id: string): Promise<SessionRow | undefined> {
    return tx
      .updateTable('sessions')
      .set({ updated_at: Date.now() })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst()
  }

  async #append(
    tx: Tx,
    session: Pick<SessionRow, 'id' | 'project_id' | 'next_offset'>,
    events: readonly NewEvent[],
    wanted?: 'last',
    change: Partial<SessionRow> = {},
  ): Promise<{ readonly all: { event: SessionEvent; isNew: boolean }[]; readonly isSubscribed: boolean }> {
    const keys = events.flatMap(({ key }) => key ?? [])
    const known = keys.length === 0 ? [] : await this.#byKeys(tx, session.id, keys)
    let offset = session.next_offset
    const now = Date.now()
    const rows: SessionEventRow[] = []
    const all = events.map(({ key, data, trace_id = null, generation_id = null, ...rest }) => {
      const before = known.find(({ event_key }) => event_key === key && key !== undefined)
      if (before) return { event: toEvent(before), isNew: false }
      const row: SessionEventRow = {
        session_id: session.id,
        position: offset++,
        id: newId('evt', now),
        ...rest,
        trace_id,
        generation_id,
        event_key: key ?? null,
        created_at: now,
        data: JSON.stringify(data),
      }
      rows.push(row)
      return { event: toEvent(row), isNew: true }
    })
    if (rows.length > 0) await tx.insertInto('session_events').values(rows).execute()
    // Events that no webhook subscribes to now are never published.
    const isSubscribed = rows.length > 0 && (await subscribersTo('session.event', session.project_id, tx)).length > 0
    const published = rows.length > 0 && !isSubscribed && { published: offset }
    const next = {
      ...change,
      ...published,
      next_offset: offset,
      ...(wanted && rows.length > 0 && { wanted: offset - 1 }),
    }
    await tx.updateTable('sessions').set(next).where('id', '=', session.id).execute()
    return { all, isSubscribed }
  }

  #byKeys(tx: Tx, id: string, keys: readonly string[]): Promise<SessionEventRow[]> {
    return tx
      .selectFrom('session_events')
      .selectAll()
      .where('session_id', '=', id)
      .where('event_key', 'in', keys)
      .execute()
  }

  /**
   * Starts the turn that is wanted, if no other is in progress: its generation and the status events that announce it. The
   * turn sees the events before its first own one.
   */
  async startTurn(
    id: string,
    plan: (session: SessionRecord) => { generation: NewGeneration; events: readonly NewEvent[] },
  ): Promise<NewGeneration | undefined> {
    const started = await this.#db.transaction().execute(async (tx) => {
      const row = await this.#locked(tx, id)
      if (!row || row.turn_id !== null || row.wanted === null) return undefined
      const { generation, events } = plan(toSession(row))
      const change = { turn_id: generation.id, turn_offset: row.next_offset, wanted: null }
      await tx.insertInto('generations').values(rowOf(generation)).execute()
      return { generation, ...(await this.#append(tx, row, events, undefined, change)) }
    })
    if (started) await this.#appended(id, started)
    return started?.generation
  }

  /** Ends the turn in progress. Does nothing if it has been ended already. */
  async endTurn(id: string, turn: string, events: readonly NewEvent[], state: GuideState | undefined): Promise<void> {
    const ended = await this.#db.transaction().execute(async (tx) => {
      const row = await this.#locked(tx, id)
      if (row?.turn_id !== turn) return undefined
      return this.#append(tx, row, events, undefined, {
        turn_id: null,
        turn_offset: null,
        ...(state && { state: JSON.stringify(state) }),
      })
    })
    if (ended) await this.#appended(id, ended)
  }

  async markPublished(id: string, offset: number): Promise<void> {
    await this.#db
      .updateTable('sessions')
      .set({ published: offset })
      .where('id', '=', id)
      .where('published', '<', offset)
      .execute()
  }

  /** Sessions with events that were not published yet. */
  async unpublished(limit = 500): Promise<string[]> {
    const rows = await this.#db
      .selectFrom('sessions')
      .select('id')
      .whereRef('published', '<', 'next_offset')
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  }

  /** Gives up on a turn that cannot be started. */
  async unwant(id: string): Promise<void> {
    await this.#db.updateTable('sessions').set({ wanted: null }).where('id', '=', id).execute()
  }

  async events(id: string, filter: EventFilter): Promise<SessionEvent[]> {
    const { min_offset, kinds, sources, trace_id, before, limit } = filter
    let query = this.#db
      .selectFrom('session_events')
      .selectAll()
      .where('session_id', '=', id)
      .where('position', '>=', min_offset)
    if (before !== undefined) query = query.where('position', '<', before)
    if (kinds) query = query.where('kind', 'in', kinds)
    if (sources) query = query.where('source', 'in', sources)
    if (trace_id !== undefined) query = query.where('trace_id', '=', trace_id)
    return (await query.orderBy('position').limit(limit).execute()).map(toEvent)
  }

  /** Sessions whose turn was not started, or not ended: because a process died in between. */
  async unfinished(limit = 500): Promise<string[]> {
    const rows = await this.#db
      .selectFrom('sessions')
      .select('id')
      .where('wanted', 'is not', null)
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  }

  async #appended(id: string, { isSubscribed }: { readonly isSubscribed: boolean }): Promise<void> {
    if (isSubscribed) for (const listener of this.#unpublished) listener(id)
    await this.#changed(id)
  }

  #changed(id: string): Promise<void> {
    return this.#changes.publish('sessions', [id])
  }
}
