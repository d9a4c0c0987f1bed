import type { Transaction } from 'kysely'
import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { GenerationRow, Tables } from '../db/tables.ts'
import type { Json } from '../lib/json.ts'
import type { Surface } from '../model/call.ts'
import type { Generation, GenerationSettings, GenerationStatus, Overrides, StopReason } from '../model/generation.ts'
import type { Message } from '../model/message.ts'
import type { Wait } from '../model/outcome.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import { type Attempt, AttemptSuperseded, asAttempt, open } from './attempt.ts'
import { at, type CallKey } from './journal.ts'

/** A generation with everything needed to continue it. */
export interface Run extends Generation {
  readonly attempt: number
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
  ...(['cost', 'created_at', 'last_activity_at', 'completed_at', 'finish_reason', 'error', 'session_id'] as const),
]
type Summary = Pick<GenerationRow, (typeof summaryColumns)[number]>

const toGeneration = (row: Summary): Generation => ({
  id: row.id,
  project_id: row.project_id,
  agent_id: row.agent_id,
  session_id: row.session_id,
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
  attempt: row.turn,
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
  readonly session_id?: string | null
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

export interface GenerationEnd {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly stop_reason: StopReason
  readonly content: string | null
  readonly finish_reason: string | null
  readonly error: object | null
}

export interface SubmittedOutput {
  readonly tool_call_id: string
  /** Identifies the run if several runs have a call with this id. */
  readonly generation_id?: string | undefined
  readonly output: Json
  readonly is_error: boolean
}

export type GivenOutput = CallKey & Omit<SubmittedOutput, keyof CallKey>

/** The row of a new run. */
export function rowOf(fresh: NewGeneration, now = Date.now()): GenerationRow {
  const { principal, client, settings, input, session_id = null, ...rest } = fresh
  return {
    ...rest,
    session_id,
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
    replied: 0,
    created_at: now,
    last_activity_at: now,
    completed_at: null,
    finish_reason: null,
    error: null,
    settings: JSON.stringify(settings),
    content: null,
    input: JSON.stringify(input),
  }
}

/**
 * Runs of agents. Any process can continue a run from its journal. Taking a run increments its attempt number, and
 * writes of an earlier attempt fail.
 */
export class Generations {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  /** Idempotent per call: the same call gets the same run. */
  async create(fresh: NewGeneration, now = Date.now()): Promise<{ run: Run; isNew: boolean }> {
    const row = rowOf(fresh, now)
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

  /** Unfinished runs that a run has started. */
  async openUnder({ id, trace_id }: Pick<Run, 'id' | 'trace_id'>): Promise<string[]> {
    const rows = await this.#engine.db
      .selectFrom('generations')
      .select('id')
      .where('trace_id', '=', trace_id)
      .where('parent_generation_id', '=', id)
      .where('status', 'in', open.generations)
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

  /** The turns of a session that have ended and were not cancelled, in order. */
  async turnsIn(sessionId: string): Promise<Run[]> {
    const rows = await this.#engine.db
      .selectFrom('generations')
      .selectAll()
      .where('session_id', '=', sessionId)
      .where('status', 'in', ['completed', 'failed'])
      .orderBy('id')
      .execute()
    return rows.map(toRun)
  }

  /** A run and all runs below it, oldest first. */
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

  /** Unfinished runs without activity since `time`. */
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

  /** Starts a new attempt. Undefined if the run is over. */
  async take(id: string): Promise<Run | undefined> {
    const row = await this.#engine.db
      .updateTable('generations')
      .set((e) => ({ turn: e('turn', '+', 1), last_activity_at: Date.now() }))
      .where('id', '=', id)
      .where('status', 'in', open.generations)
      .returningAll()
      .executeTakeFirst()
    return row && toRun(row)
  }

  async requireTurn(run: Run): Promise<void> {
    await asAttempt('generations', this.#engine, run, {})
  }

  /**
   * Pauses the run until one of `waits` is settled. If it waits only for runs that it started, its status follows their
   * current status, because they may have continued since they were read. Returns false if an output has arrived
   * meanwhile, so that there is work to do.
   */
  async rest(run: Run, waits: readonly Wait[]): Promise<boolean> {
    const started = waits.flatMap((one) => (one.kind === 'generation' ? [one.id] : []))
    const rests = await this.#engine.db.transaction().execute(async (tx) => {
      const mine = (change: Partial<GenerationRow>) =>
        tx
          .updateTable('generations')
          .set(change)
          .where('id', '=', run.id)
          .where('turn', '=', run.attempt)
          .executeTakeFirst()
      // Lock this row first, as `submit` does.
      const held = await mine({ last_activity_at: Date.now() })
      if (held.numUpdatedRows !== 1n) throw new AttemptSuperseded()
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
    // Before the commit, the last child run may have continued and skipped this run, which was not waiting yet.
    const waitsInVain = rests && started.length === waits.length && !(await this.#anyWaits(this.#engine.db, started))
    if (waitsInVain) {
      const mine = this.#engine.db.updateTable('generations').where('id', '=', run.id).where('turn', '=', run.attempt)
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

  async end(run: Run, ending: GenerationEnd): Promise<void> {
    const now = Date.now()
    const { error, ...rest } = ending
    await asAttempt('generations', this.#engine, run, {
      ...rest,
      error: error === null ? null : JSON.stringify(error),
      completed_at: now,
    })
    await this.#changed(run.id)
  }

  /**
   * Stores the outputs of client tools. Outputs that already exist are kept. `goesOn` is true once no call is open any
   * more, so that the run continues.
   */
  async submit(
    run: Run,
    outputs: readonly GivenOutput[],
    settings: Overrides & Pick<GenerationSettings, 'step_rules' | 'defaults'>,
  ): Promise<{ kept: GivenOutput[]; goesOn: boolean }> {
    return this.#engine.db.transaction().execute(async (tx) => {
      const now = Date.now()
      // Lock this row first, so that a concurrent `rest` runs entirely before or after.
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

  /** Marks paused runs as in progress. */
  async resume(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#engine.db
      .updateTable('generations')
      .set({ status: 'in_progress', last_activity_at: Date.now() })
      .where('id', 'in', ids)
      .where('status', '=', 'requires_action')
      .execute()
  }

  /**
   * Asks the process that advances the run to cancel it. False if the run is over or, with `unlessReplied`, if its reply has
   * begun.
   */
  async requestCancel(id: string, { unlessReplied = false } = {}): Promise<boolean> {
    let query = this.#engine.db
      .updateTable('generations')
      .set({ cancel_requested: 1 })
      .where('id', '=', id)
      .where('status', 'in', open.generations)
    if (unlessReplied) query = query.where('replied', '=', 0)
    const updated = await query.executeTakeFirst()
    if (updated.numUpdatedRows !== 1n && unlessReplied) return false
    await this.#changes.publish('generations', [id], { cancel: true })
    return updated.numUpdatedRows === 1n
  }

  /** Adds what the questions of a guide have used. */
  async addUsage(run: Attempt, usage: { input_tokens: number; output_tokens: number; cost: number }): Promise<void> {
    await this.#engine.db
      .updateTable('generations')
      .set((e) => ({
        input_tokens: e('input_tokens', '+', usage.input_tokens),
        output_tokens: e('output_tokens', '+', usage.output_tokens),
        ...(usage.cost > 0 && { cost: e(e.fn.coalesce('cost', e.lit(0)), '+', usage.cost) }),
      }))
      .where('id', '=', run.id)
      .where('turn', '=', run.attempt)
      .execute()
  }

  /** Records that the reply begins to be sent. False after a cancellation: then it must not begin. */
  async beginReply(run: Attempt): Promise<boolean> {
    const updated = await this.#engine.db
      .updateTable('generations')
      .set({ replied: 1 })
      .where('id', '=', run.id)
      .where('turn', '=', run.attempt)
      .where('cancel_requested', '=', 0)
      .executeTakeFirst()
    return updated.numUpdatedRows === 1n
  }

  #changed(id: string): Promise<void> {
    return this.#changes.publish('generations', [id])
  }
}

/** A forced tool choice applies only until the tool has been called. */
const onceCalled = ({ tool_choice }: GenerationSettings): Overrides =>
  tool_choice === 'none' ? {} : { tool_choice: 'auto' }
