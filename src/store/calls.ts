import { setImmediate as othersFirst } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { BatchWriter } from '../db/batch-writer.ts'
import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { CallEnd, CallRow } from '../db/tables.ts'
import { sliceLength, Tallies, type Tally } from '../db/tallies.ts'
import type { JsonObject } from '../lib/json.ts'
import { type Call, type CallSummary, matchesText } from '../model/call.ts'
import { firstIdAt } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import { DeferredCalls } from './deferred-calls.ts'

const kept = (text: string | null, truncated: number) =>
  text === null ? null : truncated === 1 ? text : JSON.parse(text)

const errorOf = ({ error }: Pick<CallRow, 'error'>): Call['error'] => (error === null ? null : JSON.parse(error))

function toCall(row: CallRow): Call {
  return {
    id: row.id,
    project_id: row.project_id,
    parent_call_id: row.parent_call_id,
    generation_id: row.generation_id,
    agent_id: row.agent_id,
    tool_id: row.tool_id,
    tool: row.tool,
    app: row.app,
    action: row.action,
    status: row.status as Call['status'],
    principal: { kind: row.principal_kind, id: row.principal_id, name: row.principal_name },
    surface: row.surface as Call['surface'],
    server_id: row.server_id,
    client: { name: row.client_name, version: row.client_version },
    request: kept(row.request, row.request_truncated),
    request_truncated: row.request_truncated === 1,
    preset_keys: row.preset_keys === null ? [] : JSON.parse(row.preset_keys),
    response: kept(row.response, row.response_truncated),
    response_truncated: row.response_truncated === 1,
    error: errorOf(row),
    duration_ms: row.duration_ms,
    waited_ms: row.waited_ms,
    mode: row.mode,
    created_at: iso(row.created_at),
    completed_at: row.completed_at === null ? null : iso(row.completed_at),
  }
}

/** Everything except the request and the response, which can be large. */
const summaryColumns = [
  ...([
    'id',
    'project_id',
    'parent_call_id',
    'generation_id',
    'agent_id',
    'tool_id',
    'tool',
    'app',
    'action',
    'status',
  ] as const),
  ...([
    'principal_kind',
    'principal_id',
    'principal_name',
    'surface',
    'server_id',
    'client_name',
    'client_version',
  ] as const),
  ...([
    'request_truncated',
    'preset_keys',
    'response_truncated',
    'error',
    'duration_ms',
    'waited_ms',
    'mode',
    'created_at',
    'completed_at',
  ] as const),
]

function toCallSummary(row: Omit<CallRow, 'request' | 'response'>): CallSummary {
  const { request: _request, response: _response, ...summary } = toCall({ ...row, request: 'null', response: null })
  return summary
}

export interface CallFilter {
  readonly project_id?: string
  readonly status?: string
  readonly app?: string
  readonly tool_id?: string
  readonly tool?: string
  readonly action?: string
  readonly principal_id?: string
  readonly surface?: string
  readonly server_id?: string
  readonly from?: number
  readonly to?: number
}

export interface CallSearch extends CallFilter {
  /** Text to find in the call's id, action, tool or error. */
  readonly q?: string
}

export interface RecordedInput {
  readonly id: string
  readonly tool_id: string | null
  readonly action: string | null
  readonly created_at: number
  readonly input: JsonObject
}

/** The request and response of a call, each truncated to the length that is searched. */
export interface RecordedAnswer {
  readonly id: string
  readonly tool_id: string | null
  readonly action: string | null
  readonly request: string
  readonly response: string
}

/** Rounds to two or three significant digits: precise enough to read, with few distinct values to group by. */
const coarse = (milliseconds: RawBuilder<number | null>) => sql<number | null>`case
  when ${milliseconds} is null then null
  when ${milliseconds} < 10 then cast(${milliseconds} * 10 as integer)
  when ${milliseconds} < 1000 then cast(${milliseconds} as integer) * 10
  else cast(${milliseconds} / 10 as integer) * 100
end`

/** Without the time that it waited for approval. */
const latencyOf = coarse(sql`(duration_ms - coalesce(waited_ms, 0))`)
const waitedOf = coarse(sql`waited_ms`)

const sliceOf = sql<number>`created_at / ${sql.lit(sliceLength)}`

const maxCounted = 200_000
const maxSeen = 20_000

/** How many calls a text search reads: no index covers substrings. */
export const maxSearched = 100_000
const batchSize = 1000
/** Small, so that other queries do not wait long for the database. */
const removedAtOnce = 500

const latestCalls = 200
const latestInputs = 50
const latestAnswers = 50
/** Longer responses are truncated for this. */
const answerLength = 16_384

type Write = { readonly begun: CallRow } | { readonly ended: CallEnd }

/**
 * The call log. A row is inserted when a call begins and updated once when it ends; a short call that changes nothing is
 * inserted when it ends. Only retention deletes rows.
 */
export class Calls {
  readonly #engine: Engine
  readonly #writes: BatchWriter<Write>
  /** Separate from the writes, so that the end of a call does not wait for the disk sync of calls that begin. */
  readonly #syncs: BatchWriter<undefined> | undefined
  /** Calls that change nothing. */
  readonly deferred = new DeferredCalls({
    insert: (row) => this.#writes.add({ begun: row }),
    end: (end) => this.end(end),
  })
  readonly #tallies = new Tallies((filter, from, to) => this.#count({ ...filter, from, to }))

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    const { settle, concurrentWrites: concurrency } = engine
    // Calls that were written in one batch arrive here together, so there is no need to gather more.
    this.#syncs = settle && new BatchWriter(settle, { gather: () => Promise.resolve() })
    this.#writes = new BatchWriter(
      async (writes) => {
        const begun: CallRow[] = []
        const ended: CallEnd[] = []
        for (const write of writes) {
          if ('begun' in write) begun.push(write.begun)
          else ended.push(write.ended)
        }
        await engine.writeCalls(begun, ended)
        changes.publishSoon(
          'calls',
          writes.map((write) => ('begun' in write ? write.begun.id : write.ended.id)),
        )
      },
      { concurrency },
    )
  }

  /**
   * Resolves once the row survives a crash of this process. With QM_SYNC_CALLS, it also survives a power failure if the
   * effect cannot be repeated.
   */
  begin(row: CallRow, effect: 'repeatable' | 'once'): Promise<void> {
    const written = this.#writes.add({ begun: row })
    return this.#syncs ? written.then(() => this.settle(effect)) : written
  }

  /** Resolves once the end survives a crash of this process. */
  end(end: CallEnd): Promise<void> {
    return this.#writes.add({ ended: end })
  }

  /** For a call that waited after `begin`: makes what was written since then as durable as its row. */
  settle(effect: 'repeatable' | 'once'): Promise<void> {
    return effect === 'once' && this.#syncs ? this.#syncs.add(undefined) : Promise.resolve()
  }

  /** Records a call that ended before it had any effect, in one write. */
  refuse(row: CallRow): Promise<void> {
    return this.#writes.add({ begun: row })
  }

  async idle(): Promise<void> {
    await this.#writes.idle()
    await this.#syncs?.idle()
  }

  async find(id: string): Promise<Call | undefined> {
    const row = await this.#engine.db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toCall(row)
  }

  async findMany(ids: readonly string[]): Promise<Call[]> {
    if (ids.length === 0) return []
    const rows = await this.#engine.db.selectFrom('calls').selectAll().where('id', 'in', ids).orderBy('id').execute()
    return rows.map(toCall)
  }

  /**
   * The recorded inputs of a principal's latest successful calls of some tools, newest first. No index covers this, so
   * only the latest calls of the project are read.
   */
  async inputs(projectId: string, principalId: string, toolIds: readonly string[]): Promise<RecordedInput[]> {
    if (toolIds.length === 0) return []
    const { db } = this.#engine
    const fitting = db
      .selectFrom(this.#latest(projectId).as('latest'))
      .select('id')
      .where('principal_id', '=', principalId)
      .where('tool_id', 'in', toolIds)
      .where('status', '=', 'success')
      .where('request_truncated', '=', 0)
      .orderBy('id', 'desc')
      .limit(latestInputs)
    const rows = await db
      .selectFrom('calls')
      .select(['id', 'tool_id', 'action', 'created_at', 'request'])
      .where('id', 'in', fitting)
      .orderBy('id', 'desc')
      .execute()
    return rows.map(({ request, ...row }) => ({ ...row, input: JSON.parse(request) }))
  }

  /** The latest responses to a principal, newest first, from the same set of calls. */
  answers(projectId: string, principalId: string): Promise<RecordedAnswer[]> {
    const { db } = this.#engine
    const fitting = db
      .selectFrom(this.#latest(projectId).as('latest'))
      .select('id')
      .where('principal_id', '=', principalId)
      .where('status', '=', 'success')
      .orderBy('id', 'desc')
      .limit(latestAnswers)
    return db
      .selectFrom('calls')
      .select(['id', 'tool_id', 'action', 'request'])
      .select(sql<string>`substr(response, 1, ${sql.lit(answerLength)})`.as('response'))
      .where('id', 'in', fitting)
      .where('response', 'is not', null)
      .orderBy('id', 'desc')
      .execute()
  }

  #latest(projectId: string) {
    return this.#engine.db
      .selectFrom('calls')
      .select(['id', 'principal_id', 'tool_id', 'status', 'request_truncated'])
      .where('project_id', '=', projectId)
      .orderBy('id', 'desc')
      .limit(latestCalls)
  }

  /** Newest first. */
  list({ q, ...filter }: CallSearch & Window, visible: Visible): Promise<Page<CallSummary>> {
    if (q !== undefined) return this.#search(filter, q, visible)
    const options = { order: 'desc', columns: summaryColumns } as const
    return pageOfRows(this.#matching(filter), filter, visible, toCallSummary, options)
  }

  /** Searches the newest calls of a filter for text. */
  async #search(filter: CallFilter & Window, q: string, visible: Visible): Promise<Page<CallSummary>> {
    const { limit, offset } = filter
    const data: CallSummary[] = []
    let total = 0
    let searched = 0
    for await (const batch of this.#batches(filter)) {
      searched += batch.length
      for (const row of batch) {
        if (!matchesText({ ...row, error: errorOf(row) }, q) || (visible && !visible(row))) continue
        if (total >= offset && data.length < limit) data.push(toCallSummary(row))
        total++
      }
      if (searched >= maxSearched) break
    }
    return { data, total, limit, offset }
  }

  /** All matching calls, newest first, in batches. */
  async *export({ q, ...filter }: CallSearch, visible: Visible): AsyncGenerator<CallSummary[]> {
    for await (const batch of this.#batches(filter)) {
      const calls = batch.filter((row) => !visible || visible(row)).map(toCallSummary)
      yield q === undefined ? calls : calls.filter((call) => matchesText(call, q))
    }
  }

  async *#batches(filter: CallFilter) {
    let last: string | undefined
    do {
      const matching = this.#matching(filter)
      const rest = last === undefined ? matching : matching.where('id', '<', last)
      const rows = await rest.select(summaryColumns).orderBy('id', 'desc').limit(batchSize).execute()
      yield rows
      last = rows.length === batchSize ? rows.at(-1)?.id : undefined
      await othersFirst()
    } while (last !== undefined)
  }

  /**
   * Deletes calls that began before `time`, and their approvals. Calls with an open approval or in an unfinished run
   * are kept.
   */
  async removeBefore(time: number): Promise<number> {
    const { db } = this.#engine
    let removed = 0
    for (;;) {
      const old = await db
        .selectFrom('calls')
        .select('id')
        .where('id', '<', firstIdAt('call', time))
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('approvals')
                .select('approvals.id')
                .whereRef('approvals.call_id', '=', 'calls.id')
                .where('approvals.status', 'in', ['pending', 'approved']),
            ),
          ),
        )
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('generations')
                .select('generations.id')
                .whereRef('generations.id', '=', 'calls.generation_id')
                .where('generations.status', 'in', ['in_progress', 'requires_action']),
            ),
          ),
        )
        .orderBy('id')
        .limit(removedAtOnce)
        .execute()
      const ids = old.map(({ id }) => id)
      if (ids.length > 0) {
        await db.transaction().execute(async (all) => {
          await all.deleteFrom('approvals').where('call_id', 'in', ids).execute()
          await all.deleteFrom('calls').where('id', 'in', ids).execute()
        })
      }
      removed += ids.length
      if (ids.length < removedAtOnce) return removed
      await othersFirst()
    }
  }

  /**
   * Counts calls by time, status and latency, from `from` (inclusive) to `to` (exclusive). If there are too many, the
   * earliest are left out.
   */
  async tally(filter: CallFilter, from: number, to: number, visible: Visible) {
    if (!visible) return this.#tallies.between(filter, from, to, maxCounted)
    // For callers who can see only some calls, rows are checked one by one.
    const rows = await this.#matching({ ...filter, from, to })
      .select(['id', 'project_id', 'status', sliceOf.as('slice'), latencyOf.as('latency'), waitedOf.as('waited')])
      .orderBy('id', 'desc')
      .limit(maxSeen)
      .execute()
    const tallies: Tally[] = rows.filter(visible).map((row) => ({ ...row, calls: 1 }))
    return { tallies, isComplete: rows.length < maxSeen }
  }

  #count(filter: CallFilter): Promise<Tally[]> {
    return this.#matching(filter)
      .select(['status', sliceOf.as('slice'), latencyOf.as('latency'), waitedOf.as('waited')])
      .select(({ fn }) => fn.countAll<number>().as('calls'))
      .groupBy(['slice', 'status', 'latency', 'waited'])
      .execute()
  }

  #matching(filter: CallFilter) {
    let where = this.#engine.db.selectFrom('calls')
    for (const field of [
      'project_id',
      'status',
      'app',
      'tool_id',
      'tool',
      'action',
      'principal_id',
      'surface',
      'server_id',
    ] as const) {
      const value = filter[field]
      if (value !== undefined) where = where.where(field, '=', value)
    }
    if (filter.from !== undefined) where = where.where('id', '>=', firstIdAt('call', filter.from))
    if (filter.to !== undefined) where = where.where('id', '<', firstIdAt('call', filter.to))
    return where
  }
}
