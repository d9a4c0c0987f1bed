import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { WorkflowCallRow, WorkflowRunRow, WorkflowStepRow } from '../db/tables.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import { newId } from '../model/ids.ts'
import type { Wait } from '../model/outcome.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { RunError, RunSettings, RunStatus, StepStatus, WorkflowRun } from '../model/workflow-run.ts'
import { type Attempt, asAttempt, open } from './attempt.ts'

/** A run with everything needed to continue it. */
export interface StoredRun extends WorkflowRun {
  readonly attempt: number
  readonly depth: number
  readonly agent_id: string | null
  readonly cancelRequested: boolean
  /** When someone resumed it after it had failed. Failures before that do not count as attempts. */
  readonly reopenedAt: number
  readonly settings: RunSettings
  readonly input: JsonObject
  readonly output: Json
}

export interface JournalStep {
  readonly step: string
  readonly status: StepStatus
  readonly wait_until: number | null
  readonly started_at: number
  readonly completed_at: number | null
  readonly error: RunError | null
  readonly output: Json
}

/** A call of a run. The row is written before the call is made, and updated with its output. */
export interface RunCall {
  readonly run_id: string
  readonly step: string
  readonly item: number
  readonly attempt: number
  readonly call_id: string
  readonly action: string
  readonly tool_id: string | null
  readonly awaits: Wait | null
  readonly is_error: boolean
  readonly created_at: number
  readonly completed_at: number | null
  readonly input: JsonObject
  readonly output: Json | undefined
}

export interface RunJournal {
  readonly steps: readonly JournalStep[]
  readonly calls: readonly RunCall[]
}

export type NewRun = Pick<
  StoredRun,
  | 'id'
  | 'project_id'
  | 'kind'
  | 'tool_id'
  | 'name'
  | 'dry_run'
  | 'call_id'
  | 'generation_id'
  | 'agent_id'
  | 'rerun_of'
  | 'depth'
  | 'started_by'
  | 'settings'
  | 'input'
> & { readonly steps?: readonly JournalStep[] }

export interface RunEnd {
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly error: RunError | null
  readonly output: Json
}

const summaryColumns = [
  ...(['id', 'project_id', 'kind', 'tool_id', 'name', 'status', 'dry_run', 'call_id', 'generation_id'] as const),
  ...(['rerun_of', 'principal_id', 'principal_name', 'created_at', 'last_activity_at', 'wake_at'] as const),
  ...(['completed_at', 'error'] as const),
]
type Summary = Pick<WorkflowRunRow, (typeof summaryColumns)[number]>

const toSummary = (row: Summary): WorkflowRun => ({
  id: row.id,
  project_id: row.project_id,
  kind: row.kind as WorkflowRun['kind'],
  tool_id: row.tool_id,
  name: row.name,
  status: row.status as RunStatus,
  dry_run: row.dry_run === 1,
  call_id: row.call_id,
  generation_id: row.generation_id,
  rerun_of: row.rerun_of,
  started_by: { id: row.principal_id, name: row.principal_name },
  error: row.error === null ? null : JSON.parse(row.error),
  created_at: iso(row.created_at),
  last_activity_at: iso(row.last_activity_at),
  wakes_at: row.wake_at === null ? null : iso(row.wake_at),
  completed_at: row.completed_at === null ? null : iso(row.completed_at),
})

const toRun = (row: WorkflowRunRow): StoredRun => ({
  ...toSummary(row),
  attempt: row.turn,
  depth: row.depth,
  agent_id: row.agent_id,
  cancelRequested: row.cancel_requested === 1,
  reopenedAt: row.reopened_at ?? 0,
  settings: JSON.parse(row.settings),
  input: JSON.parse(row.input),
  output: row.output === null ? null : JSON.parse(row.output),
})

const toStep = (row: WorkflowStepRow): JournalStep => ({
  step: row.step,
  status: row.status as StepStatus,
  wait_until: row.wait_until,
  started_at: row.started_at,
  completed_at: row.completed_at,
  error: row.error === null ? null : JSON.parse(row.error),
  output: row.output === null ? null : JSON.parse(row.output),
})

const toCall = (row: WorkflowCallRow): RunCall => ({
  ...row,
  awaits: row.awaits === null ? null : JSON.parse(row.awaits),
  is_error: row.is_error === 1,
  input: JSON.parse(row.input),
  output: row.output === null ? undefined : JSON.parse(row.output),
})

const stepRow = (runId: string, step: JournalStep): WorkflowStepRow => ({
  run_id: runId,
  ...step,
  error: step.error === null ? null : JSON.stringify(step.error),
  output: JSON.stringify(step.output ?? null),
})

/**
 * Runs of workflows and programs, and their journal. Any process can continue a run. Taking a run increments its attempt
 * number, and writes of an earlier attempt fail.
 */
export class WorkflowRuns {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  /** Idempotent per call: the same call gets the same run. */
  async create(fresh: NewRun, now = Date.now()): Promise<{ run: StoredRun; isNew: boolean }> {
    const { started_by, settings, input, dry_run, steps = [], ...rest } = fresh
    const row: WorkflowRunRow = {
      ...rest,
      dry_run: Number(dry_run),
      status: 'running',
      turn: 0,
      principal_id: started_by.id,
      principal_name: started_by.name,
      cancel_requested: 0,
      created_at: now,
      last_activity_at: now,
      wake_at: null,
      reopened_at: null,
      completed_at: null,
      error: null,
      settings: JSON.stringify(settings),
      input: JSON.stringify(input),
      output: null,
    }
    try {
      await this.#engine.db.transaction().execute(async (tx) => {
        await tx.insertInto('workflow_runs').values(row).execute()
        if (steps.length > 0)
          await tx
            .insertInto('workflow_steps')
            .values(steps.map((step) => stepRow(row.id, step)))
            .execute()
      })
      return { run: toRun(row), isNew: true }
    } catch (error) {
      const known = fresh.call_id !== null && (await this.findByCall(fresh.call_id))
      if (!this.#engine.isDuplicate(error) || !known) throw error
      return { run: known, isNew: false }
    }
  }

  async find(id: string): Promise<StoredRun | undefined> {
    const row = await this.#engine.db.selectFrom('workflow_runs').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toRun(row)
  }

  /** The run that a call has started. */
  async findByCall(callId: string): Promise<StoredRun | undefined> {
    const runs = this.#engine.db.selectFrom('workflow_runs').selectAll()
    const row = await runs.where('call_id', '=', callId).executeTakeFirst()
    return row && toRun(row)
  }

  /** The id of the run that makes a call as one of its steps. */
  async idOfCaller(callId: string): Promise<string | undefined> {
    const calls = this.#engine.db.selectFrom('workflow_calls').select('run_id')
    return (await calls.where('call_id', '=', callId).executeTakeFirst())?.run_id
  }

  list(
    filter: { project_id?: string; tool_id?: string; status?: string; kind?: string } & Window,
    visible: Visible,
  ): Promise<Page<WorkflowRun>> {
    let where = this.#engine.db.selectFrom('workflow_runs')
    for (const field of ['project_id', 'tool_id', 'status', 'kind'] as const) {
      const value = filter[field]
      if (value !== undefined) where = where.where(field, '=', value)
    }
    return pageOfRows(where, filter, visible, toSummary, { order: 'desc', columns: summaryColumns })
  }

  async journal(id: string): Promise<RunJournal> {
    const { db } = this.#engine
    const calls = db.selectFrom('workflow_calls').selectAll().where('run_id', '=', id)
    const [steps, made] = await Promise.all([
      db.selectFrom('workflow_steps').selectAll().where('run_id', '=', id).orderBy('started_at').execute(),
      calls.orderBy('created_at').orderBy('item').orderBy('attempt').execute(),
    ])
    return { steps: steps.map(toStep), calls: made.map(toCall) }
  }

  /** Unfinished runs that should be running: without activity since `time`, or past the time they wait for. */
  async overdue(time: number, now = Date.now(), limit = 500): Promise<string[]> {
    const rows = await this.#engine.db
      .selectFrom('workflow_runs')
      .select('id')
      .where((e) =>
        e.or([
          e.and([e('status', '=', 'running'), e('last_activity_at', '<', time)]),
          e.and([e('status', '=', 'waiting'), e('wake_at', '<', now), e('last_activity_at', '<', time)]),
        ]),
      )
      .limit(limit)
      .execute()
    return rows.map(({ id }) => id)
  }

  /** Starts a new attempt. Undefined if the run is over. */
  async take(id: string): Promise<StoredRun | undefined> {
    const row = await this.#engine.db
      .updateTable('workflow_runs')
      .set((e) => ({ turn: e('turn', '+', 1), last_activity_at: Date.now(), status: 'running' }))
      .where('id', '=', id)
      .where('status', 'in', open.workflow_runs)
      .returningAll()
      .executeTakeFirst()
    return row && toRun(row)
  }

  /** Writes the row of a call before it is made. False after a cancellation, in case the change event was lost. */
  async beginCall(run: Attempt, call: Omit<RunCall, 'run_id' | 'awaits' | 'is_error' | 'completed_at' | 'output'>) {
    const row: WorkflowCallRow = {
      run_id: run.id,
      ...call,
      awaits: null,
      is_error: 0,
      completed_at: null,
      input: JSON.stringify(call.input),
      output: null,
    }
    const { cancel_requested } = await asAttempt('workflow_runs', this.#engine, run, {}, (tx) =>
      tx.insertInto('workflow_calls').values(row).execute(),
    )
    return { call: toCall(row), isWanted: cancel_requested === 0 }
  }

  async waitingForConnection(projectId: string): Promise<string[]> {
    const rows = await this.#engine.db
      .selectFrom('workflow_calls')
      .innerJoin('workflow_runs', 'workflow_runs.id', 'workflow_calls.run_id')
      .select('workflow_runs.id')
      .distinct()
      .where('workflow_runs.project_id', '=', projectId)
      .where('workflow_runs.completed_at', 'is', null)
      .where('workflow_calls.output', 'is', null)
      .where('workflow_calls.awaits', 'like', '%"kind":"connection"%')
      .execute()
    return rows.map(({ id }) => id)
  }

  async suspendCall(run: Attempt, { call_id }: Pick<RunCall, 'call_id'>, awaits: Wait): Promise<void> {
    await asAttempt('workflow_runs', this.#engine, run, {}, (tx) =>
      tx
        .updateTable('workflow_calls')
        .set({ awaits: JSON.stringify(awaits) })
        .where('call_id', '=', call_id)
        .execute(),
    )
  }

  /** Stores the output of a call. The first output wins; returns it. */
  async finishCall(call: RunCall, output: Json, isError: boolean): Promise<RunCall> {
    const now = Date.now()
    const updated = await this.#engine.db
      .updateTable('workflow_calls')
      .set({ output: JSON.stringify(output), is_error: Number(isError), completed_at: now })
      .where('call_id', '=', call.call_id)
      .where('output', 'is', null)
      .executeTakeFirst()
    if (updated.numUpdatedRows === 1n) return { ...call, output, is_error: isError, completed_at: now }
    const calls = this.#engine.db.selectFrom('workflow_calls').selectAll()
    return toCall(await calls.where('call_id', '=', call.call_id).executeTakeFirstOrThrow())
  }

  /** Stores the state of a step. */
  async writeStep(run: Attempt, step: JournalStep): Promise<void> {
    const row = stepRow(run.id, step)
    await asAttempt('workflow_runs', this.#engine, run, {}, (tx) =>
      tx
        .insertInto('workflow_steps')
        .values(row)
        .onConflict((conflict) => conflict.columns(['run_id', 'step']).doUpdateSet(row))
        .execute(),
    )
  }

  /** Stores an event for a run that is not over. `full` if that many are unused already. */
  async addEvent(runId: string, name: string, data: Json, limit: number): Promise<'added' | 'full' | 'over'> {
    return this.#engine.db.transaction().execute(async (tx) => {
      // Locks the row, so that the limit holds and the run cannot end meanwhile.
      const run = tx.updateTable('workflow_runs').set((e) => ({ turn: e.ref('turn') }))
      const { numUpdatedRows } = await run
        .where('id', '=', runId)
        .where('status', 'in', open.workflow_runs)
        .executeTakeFirstOrThrow()
      if (numUpdatedRows !== 1n) return 'over'
      const events = tx.selectFrom('workflow_events').where('run_id', '=', runId).where('step', 'is', null)
      const { count } = await events.select((e) => e.fn.countAll().as('count')).executeTakeFirstOrThrow()
      if (Number(count) >= limit) return 'full'
      const row = {
        id: newId('evt'),
        run_id: runId,
        name,
        step: null,
        created_at: Date.now(),
        data: JSON.stringify(data),
      }
      await tx.insertInto('workflow_events').values(row).execute()
      return 'added'
    })
  }

  /** The event that a step uses: the one it has used before, or the oldest with this name that no step has. */
  async takeEvent(run: Attempt, step: string, name: string): Promise<{ readonly data: Json } | undefined> {
    const events = this.#engine.db
      .selectFrom('workflow_events')
      .select(['id', 'data', 'step'])
      .where('run_id', '=', run.id)
    const usable = events.where('name', '=', name).where((e) => e.or([e('step', 'is', null), e('step', '=', step)]))
    const rows = await usable.orderBy('id').execute()
    const event = rows.find((row) => row.step === step) ?? rows[0]
    if (!event) return undefined
    if (event.step === null)
      await asAttempt('workflow_runs', this.#engine, run, {}, (tx) =>
        tx.updateTable('workflow_events').set({ step }).where('id', '=', event.id).execute(),
      )
    return { data: JSON.parse(event.data) as Json }
  }

  async rest(run: Attempt, wakeAt: number | null): Promise<void> {
    await asAttempt('workflow_runs', this.#engine, run, { status: 'waiting', wake_at: wakeAt })
    await this.#changed(run.id)
  }

  async end(run: Attempt, { status, error, output }: RunEnd): Promise<void> {
    await asAttempt('workflow_runs', this.#engine, run, {
      status,
      error: error === null ? null : JSON.stringify(error),
      output: JSON.stringify(output ?? null),
      wake_at: null,
      completed_at: Date.now(),
    })
    await this.#changed(run.id)
  }

  /** Opens a failed or cancelled run again, without the step that failed. False if it is not over. */
  async reopen(id: string): Promise<boolean> {
    const now = Date.now()
    return this.#engine.db.transaction().execute(async (tx) => {
      const updated = await tx
        .updateTable('workflow_runs')
        .set({
          ...{ status: 'running', error: null, completed_at: null, cancel_requested: 0 },
          ...{ last_activity_at: now, reopened_at: now },
        })
        .where('id', '=', id)
        .where('status', 'in', ['failed', 'cancelled'])
        .executeTakeFirst()
      if (updated.numUpdatedRows !== 1n) return false
      const steps = tx.deleteFrom('workflow_steps').where('run_id', '=', id)
      await steps.where('status', 'not in', ['done', 'skipped', 'simulated']).execute()
      return true
    })
  }

  /** Asks the process that advances the run to cancel it. False if the run is over. */
  async requestCancel(id: string): Promise<boolean> {
    const updated = await this.#engine.db
      .updateTable('workflow_runs')
      .set({ cancel_requested: 1 })
      .where('id', '=', id)
      .where('status', 'in', open.workflow_runs)
      .executeTakeFirst()
    await this.#changes.publish('workflow_runs', [id], { cancel: true })
    return updated.numUpdatedRows === 1n
  }

  /** Deletes runs that ended before a time, with their journals. */
  async removeBefore(time: number, limit = 500): Promise<number> {
    const { db } = this.#engine
    const runs = db.selectFrom('workflow_runs').select('id').where('completed_at', '<', time)
    const ids = (await runs.limit(limit).execute()).map(({ id }) => id)
    if (ids.length === 0) return 0
    await db.deleteFrom('workflow_calls').where('run_id', 'in', ids).execute()
    await db.deleteFrom('workflow_events').where('run_id', 'in', ids).execute()
    await db.deleteFrom('workflow_steps').where('run_id', 'in', ids).execute()
    await db.deleteFrom('workflow_runs').where('id', 'in', ids).execute()
    return ids.length
  }

  #changed(id: string): Promise<void> {
    return this.#changes.publish('workflow_runs', [id])
  }
}
