import type { Transaction } from 'kysely'
import type { Engine } from '../db/engine.ts'
import type { Notices } from '../db/notices.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { GenerationRow, Tables } from '../db/tables.ts'
import type { Json } from '../lib/json.ts'
import type { Surface } from '../model/call.ts'
import type { Generation, GenerationSettings, GenerationStatus, Overrides, StopReason } from '../model/generation.ts'
import type { Message } from '../model/message.ts'
import type { Wait } from '../model/outcome.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import { at, type CallKey } from './journal.ts'
import { asTurn, open, TurnLost } from './turn.ts'

/** A run with all that is needed to go on with it. */
export interface Run extends Generation {
  readonly turn: number
  readonly depth: number
  readonly surface: Surface
  readonly client: { readonly name: string | null; readonly version: string | null }
  readonly cancelRequested: boolean
  readonly settings: GenerationSettings
  readonly content: string | null
  readonly input: readonly Message[]
}

const summaryColumns = [
  ...(['id', 'project_id', 'agent_id', 'trace_id', 'parent_generation_id', 'parent_call_id', 'status'] as const),
  ...(['stop_reason', 'principal_id', 'principal_name', 'model', 'steps', 'input_tokens', 'output_tokens'] as const),
  ...(['cost', 'created_at', 'last_activity_at', 'completed_at', 'finish_reason', 'error'] as const),
]
type Summary = Pick<GenerationRow, (typeof summaryColumns)[number]>

const toGeneration = (row: Summary): Generation => ({
  id: row.id,
  project_id: row.project_id,
  agent_id: row.agent_id,
  trace_id: row.trace_id,
  initiator_generation_id: row.parent_generation_id,
  parent_call_id: row.parent_call_id,
  status: row.status as GenerationStatus,
  stop_reason: row.stop_reason as StopReason | null,
  finish_reason: row.finish_reason,
  model: row.model,
  steps: row.steps,
  usage: { input_tokens: row.input_tokens, output_tokens: row.output_tokens, cost: row.cost },
  error: row.error === null ? null : JSON.parse(row.error),
  started_by: { id: row.principal_id, name: row.principal_name },
  started_at: iso(row.created_at),
  last_activity_at: iso(row.last_activity_at),
  completed_at: row.completed_at === null ? null : iso(row.completed_at),
  created_at: iso(row.created_at),
})

const toRun = (row: GenerationRow): Run => ({
  ...toGeneration(row),
  turn: row.turn,
  depth: row.depth,
  surface: row.surface as Surface,
  client: { name: row.client_name, version: row.client_version },
  cancelRequested: row.cancel_requested === 1,
  settings: JSON.parse(row.settings),
  content: row.content,
  input: JSON.parse(row.input),
})

export interface NewGeneration {
  readonly id: string
  readonly project_id: string
  readonly agent_id: string
  readonly trace_id: string
  readonly parent_generation_id: string | null
  readonly parent_call_id: string | null
  readonly depth: number
  readonly principal: { readonly id: string; readonly name: string }
  readonly surface: Surface
  readonly client: { readonly name: string | null; readonly version: string | null }
  readonly settings: GenerationSettings
  readonly input: readonly Message[]
}

export interface Ending {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly stop_reason: StopReason
  readonly content: string | null
  readonly finish_reason: string | null
  readonly error: object | null
}

export interface SubmittedOutput {
  readonly tool_call_id: string
  /** Which run's, where several have a call of that id. */
  readonly generation_id?: string | undefined
  readonly output: Json
  readonly is_error: boolean
}

/** An output and the call that it is for. */
export type GivenOutput = CallKey & Omit<SubmittedOutput, keyof CallKey>

/**
 * Runs of agents. Whoever takes one up goes on from its journal. A turn is taken by counting it up; what is written for an
 * earlier turn fails.
 */
export class Generations {
  readonly #engine: Engine
  readonly #notices: Notices

  constructor(engine: Engine, notices: Notices) {
    this.#engine = engine
    this.#notices = notices
  }

  /** One call starts one run: asked for again by the same call, it is the same. */
  async create(fresh: NewGeneration, now = Date.now()): Promise<{ run: Run; isNew: boolean }> {
    const { principal, client, settings, input, ...rest } = fresh
    const row: GenerationRow = {
      ...rest,
      status: 'in_progress',
      stop_reason: null,
      turn: 0,
      principal_id: principal.id,
      principal_name: principal.name,
      client_name: client.name,
      client_version: client.version,
      model: null,
      steps: 0,
      input_tokens: 0,
      output_tokens: 0,
      cost: null,
      cancel_requested: 0,
      created_at: now,
      last_activity_at: now,
      completed_at: null,
      finish_reason: null,
      error: null,
      settings: JSON.stringify(settings),
      content: null,
      input: JSON.stringify(input),
    }
    try {
      await this.#engine.db.insertInto('generations').values(row).execute()
      return { run: toRun(row), isNew: true }
    } catch (error) {
      const known = fresh.parent_call_id !== null && (await this.findByParentCall(fresh.parent_call_id))
      if (!this.#engine.isDuplicate(error) || !known) throw error
      return { run: known, isNew: false }
    }
  }

  async find(id: string): Promise<Run | undefined> {
    const row = await this.#engine.db.selectFrom('generations').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toRun(row)
  }

  async findByParentCall(callId: string): Promise<Run | undefined> {
    const row = await this.#engine.db
      .selectFrom('generations')
      .selectAll()
      .where('parent_call_id', '=', callId)
      .executeTakeFirst()
    return row && toRun(row)
  }

  /** Those that a run has started and that are not over. */
  async openUnder({ id, trace_id }: Pick<Run, 'id' | 'trace_id'>): Promise<string[]> {
    const rows = await this.#engine.db
      .selectFrom('generations')
      .select('id')
      .where('trace_id', '=', trace_id)
      .where('parent_generation_id', '=', id)
      .where('status', 'in', open)
      .execute()
    return rows.map((row) => row.id)
  }

  async statusOf(id: string): Promise<GenerationStatus | undefined> {
    const row = await this.#engine.db.selectFrom('generations').select('status').where('id', '=', id).executeTakeFirst()
    return row?.status as GenerationStatus | undefined
  }

  list(
    filter: { project_id?: string; agent_id?: string; status?: string; trace_id?: string } & Window,
    visible: Visible,
  ): Promise<Page<Generation>> {
    let where = this.#engine.db.selectFrom('generations')
    for (const field of ['project_id', 'agent_id', 'status', 'trace_id'] as const) {
      const value = filter[field]
      if (value !== undefined) where = where.where(field, '=', value)
    }
    return pageOfRows(where, filter, visible, toGeneration, { order: 'desc', columns: summaryColumns })
  }

  /** A run and all that it started, oldest first. */
  async trace(traceId: string): Promise<Run[]> {
    const rows = await this.#engine.db
      .selectFrom('generations')
      .selectAll()
      .where('trace_id', '=', traceId)
      .orderBy('id')
      .limit(1000)
      .execute()
    return rows.map(toRun)
  }

  /** Those that should be going on and of which nothing was heard since. */
  async silentSince(status: 'in_progress' | 'requires_action', time: number, limit = 500): Promise<string[]> {
    const rows = await this.#engine.db
      .selectFrom('generations')
      .select('id')
      .where('status', '=', status)
      .where('last_activity_at', '<', time)
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  }

  /** Takes the run up. Nothing, if it is over. */
  async take(id: string): Promise<Run | undefined> {
    const row = await this.#engine.db
      .updateTable('generations')
      .set((e) => ({ turn: e('turn', '+', 1), last_activity_at: Date.now() }))
      .where('id', '=', id)
      .where('status', 'in', open)
      .returningAll()
      .executeTakeFirst()
    return row && toRun(row)
  }

  /** Fails if the turn is another's by now. */
  async requireTurn(run: Run): Promise<void> {
    await asTurn(this.#engine, run, {})
  }

  /**
   * Nothing more is to be done now: these are waited for. Where they are only runs that were started from here, the run
   * stands as those do at this moment, not as they were when they were looked at: what they waited for may have come
   * since. False if something has come meanwhile, in which case there is something to go on with.
   */
  async rest(run: Run, waits: readonly Wait[]): Promise<boolean> {
    const started = waits.flatMap((one) => (one.kind === 'generation' ? [one.id] : []))
    const rests = await this.#engine.db.transaction().execute(async (tx) => {
      const mine = (change: Partial<GenerationRow>) =>
        tx
          .updateTable('generations')
          .set(change)
          .where('id', '=', run.id)
          .where('turn', '=', run.turn)
          .executeTakeFirst()
      // First of all the row that others wait for, as in `submit`.
      const held = await mine({ last_activity_at: Date.now() })
      if (held.numUpdatedRows !== 1n) throw new TurnLost()
      const { n } = await tx
        .selectFrom('generation_calls')
        .select((e) => e.fn.countAll<number>().as('n'))
        .where('generation_id', '=', run.id)
        .where('output', 'is', null)
        .executeTakeFirstOrThrow()
      const unchanged = Number(n) === waits.length
      const forOthers = started.length < waits.length || (await this.#anyWaits(tx, started))
      await mine({ status: unchanged && forOthers ? 'requires_action' : 'in_progress' })
      return unchanged
    })
    // Between the look and the commit the last one may have gone on, and have passed over a run that did not wait yet.
    const waitsInVain = rests && started.length === waits.length && !(await this.#anyWaits(this.#engine.db, started))
    if (waitsInVain) {
      const mine = this.#engine.db.updateTable('generations').where('id', '=', run.id).where('turn', '=', run.turn)
      await mine.where('status', '=', 'requires_action').set({ status: 'in_progress' }).execute()
    }
    if (rests) await this.#changed(run.id)
    return rests
  }

  async #anyWaits(tx: Pick<Transaction<Tables>, 'selectFrom'>, ids: readonly string[]): Promise<boolean> {
    const query = tx
      .selectFrom('generations')
      .select('id')
      .where('id', 'in', ids)
      .where('status', '=', 'requires_action')
    return (await query.executeTakeFirst()) !== undefined
  }

  async end(run: Run, ending: Ending): Promise<void> {
    const now = Date.now()
    const { error, ...rest } = ending
    await asTurn(this.#engine, run, {
      ...rest,
      error: error === null ? null : JSON.stringify(error),
      completed_at: now,
    })
    await this.#changed(run.id)
  }

  /**
   * Keeps what a caller's own tools gave. The run goes on once none of them is open any more; `goesOn` tells. Those that
   * were given before stay as they were.
   */
  async submit(
    run: Run,
    outputs: readonly GivenOutput[],
    settings: Overrides & Pick<GenerationSettings, 'step_rules' | 'defaults'>,
  ): Promise<{ kept: GivenOutput[]; goesOn: boolean }> {
    return this.#engine.db.transaction().execute(async (tx) => {
      const now = Date.now()
      // First of all the row that others wait for: whoever rests the run meanwhile comes before or after, not between.
      const row = await tx
        .updateTable('generations')
        .set({ last_activity_at: now })
        .where('id', '=', run.id)
        .returning(['settings', 'steps', 'status'])
        .executeTakeFirstOrThrow()
      const kept: GivenOutput[] = []
      for (const given of outputs) {
        const updated = await at(
          tx
            .updateTable('generation_calls')
            .set({ output: JSON.stringify(given.output), is_error: Number(given.is_error), completed_at: now }),
          given,
        )
          .where('output', 'is', null)
          .executeTakeFirst()
        if (updated.numUpdatedRows === 1n) kept.push(given)
      }
      const left = await tx
        .selectFrom('generation_calls')
        .select('awaits')
        .where('generation_id', '=', run.id)
        .where('output', 'is', null)
        .execute()
      const goesOn = kept.length > 0 && !left.some(({ awaits }) => awaits?.includes('"kind":"client"'))
      if (kept.length > 0) {
        const { tool_choice, active_tool_ids, step_rules, defaults } = settings
        const before = JSON.parse(row.settings) as GenerationSettings
        const next: GenerationSettings = {
          ...before,
          defaults: { ...onceCalled(before), ...before.defaults, ...defaults },
          step_rules: [...step_rules, ...before.step_rules],
          next: { step: row.steps + 1, tool_choice, active_tool_ids },
        }
        await tx
          .updateTable('generations')
          .set({
            settings: JSON.stringify(next),
            ...(goesOn && row.status === 'requires_action' && { status: 'in_progress' }),
          })
          .where('id', '=', run.id)
          .execute()
      }
      return { kept, goesOn }
    })
  }

  /** What these runs have rested for has come. */
  async resume(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#engine.db
      .updateTable('generations')
      .set({ status: 'in_progress', last_activity_at: Date.now() })
      .where('id', 'in', ids)
      .where('status', '=', 'requires_action')
      .execute()
  }

  /** Whoever advances the run is told. False if it is over already. */
  async requestCancel(id: string): Promise<boolean> {
    const updated = await this.#engine.db
      .updateTable('generations')
      .set({ cancel_requested: 1 })
      .where('id', '=', id)
      .where('status', 'in', open)
      .executeTakeFirst()
    await this.#notices.tell('generations', [id], { cancel: true })
    return updated.numUpdatedRows === 1n
  }

  #changed(id: string): Promise<void> {
    return this.#notices.tell('generations', [id])
  }
}

/** Being forced to call a tool is over once it was called. */
const onceCalled = ({ tool_choice }: GenerationSettings): Overrides =>
  tool_choice === 'none' ? {} : { tool_choice: 'auto' }
