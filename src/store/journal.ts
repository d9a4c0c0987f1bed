import type { Engine } from '../db/engine.ts'
import type { GenerationCallRow, GenerationStepRow } from '../db/tables.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import type { Step } from '../model/generation.ts'
import type { StepGuide } from '../model/guide.ts'
import type { Wait } from '../model/outcome.ts'
import { type Attempt, AttemptSuperseded, asAttempt } from './attempt.ts'

/** A tool call of a model. The row is written before the call is made, and updated with its output. */
export interface JournalCall {
  readonly generation_id: string
  readonly step: number
  readonly position: number
  readonly call_id: string
  readonly tool_call_id: string
  readonly tool_name: string
  /** Null if the tool does not exist. */
  readonly tool_id: string | null
  readonly action: string | null
  /** JSON text as the model wrote it. */
  readonly args: string
  readonly awaits: Wait | null
  readonly output: Json | undefined
  readonly is_error: boolean
  readonly created_at: number
  readonly completed_at: number | null
}

export interface Journal {
  readonly steps: Step[]
  readonly calls: JournalCall[]
}

export interface StepAnswer {
  readonly model: string
  readonly text: string
  readonly reasoning: string | null
  readonly metadata: JsonObject | null
  readonly finish_reason: string
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost: number | null
}

export type NewCall = Pick<JournalCall, 'call_id' | 'tool_call_id' | 'tool_name' | 'tool_id' | 'action' | 'args'>

/** Identifies a call within a run. */
export type CallKey = Pick<JournalCall, 'generation_id' | 'step' | 'position'>

const toStep = (row: GenerationStepRow): Step => ({
  number: row.number,
  model: row.model,
  text: row.text,
  reasoning: row.reasoning,
  metadata: row.metadata === null ? null : JSON.parse(row.metadata),
  finish_reason: row.finish_reason,
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  cost: row.cost,
  started_at: row.started_at,
  answered_at: row.answered_at,
  guide: row.guide === null ? null : JSON.parse(row.guide),
})

const toCall = (row: GenerationCallRow): JournalCall => ({
  ...row,
  awaits: row.awaits === null ? null : JSON.parse(row.awaits),
  output: row.output === null ? undefined : JSON.parse(row.output),
  is_error: row.is_error === 1,
})

/** The steps and calls of runs. Rows are written before the work they describe is done. */
export class Journals {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async read(id: string): Promise<Journal> {
    const { db } = this.#engine
    const [steps, calls] = await Promise.all([
      db.selectFrom('generation_steps').selectAll().where('generation_id', '=', id).orderBy('number').execute(),
      db
        .selectFrom('generation_calls')
        .selectAll()
        .where('generation_id', '=', id)
        .orderBy('step')
        .orderBy('position')
        .execute(),
    ])
    return { steps: steps.map(toStep), calls: calls.map(toCall) }
  }

  /**
   * Records that the step is sent to the model. Calling it again retries the same step. `isWanted` is false after a
   * cancellation, in case the change event was lost.
   */
  async startStep(
    run: Attempt,
    number: number,
    guide: StepGuide | null = null,
  ): Promise<{ step: Step; isWanted: boolean }> {
    const row: GenerationStepRow = {
      generation_id: run.id,
      number,
      model: null,
      text: null,
      reasoning: null,
      metadata: null,
      finish_reason: null,
      input_tokens: null,
      output_tokens: null,
      cost: null,
      started_at: Date.now(),
      answered_at: null,
      guide: guide === null ? null : JSON.stringify(guide),
    }
    const { cancel_requested } = await asAttempt('generations', this.#engine, run, { status: 'in_progress' }, (tx) =>
      tx
        .insertInto('generation_steps')
        .values(row)
        .onConflict((conflict) => conflict.columns(['generation_id', 'number']).doNothing())
        .execute(),
    )
    return { step: toStep(row), isWanted: cancel_requested === 0 }
  }

  /** Stores the model's response and its tool calls, in one transaction. */
  async answerStep(
    run: Attempt,
    number: number,
    answer: StepAnswer,
    calls: readonly NewCall[],
  ): Promise<JournalCall[]> {
    const now = Date.now()
    const rows = calls.map(
      (call, position): GenerationCallRow => ({
        generation_id: run.id,
        step: number,
        position,
        ...call,
        awaits: null,
        output: null,
        is_error: 0,
        created_at: now,
        completed_at: null,
      }),
    )
    const { input_tokens: input, output_tokens: output } = answer
    await this.#engine.db.transaction().execute(async (tx) => {
      const updated = await tx
        .updateTable('generations')
        .set((e) => ({
          last_activity_at: now,
          model: answer.model,
          steps: number,
          finish_reason: answer.finish_reason,
          // Text before calls is not the reply yet.
          ...(rows.length > 0 && { replied: 0 }),
          input_tokens: e('input_tokens', '+', input),
          output_tokens: e('output_tokens', '+', output),
          ...(answer.cost !== null && { cost: e(e.fn.coalesce('cost', e.lit(0)), '+', answer.cost) }),
        }))
        .where('id', '=', run.id)
        .where('turn', '=', run.attempt)
        .executeTakeFirst()
      if (updated.numUpdatedRows !== 1n) throw new AttemptSuperseded()
      await tx
        .updateTable('generation_steps')
        .set({
          model: answer.model,
          text: answer.text,
          reasoning: answer.reasoning,
          metadata: answer.metadata === null ? null : JSON.stringify(answer.metadata),
          finish_reason: answer.finish_reason,
          input_tokens: input,
          output_tokens: output,
          cost: answer.cost,
          answered_at: now,
        })
        .where('generation_id', '=', run.id)
        .where('number', '=', number)
        .execute()
      if (rows.length > 0) await tx.insertInto('generation_calls').values(rows).execute()
    })
    return rows.map(toCall)
  }

  /** Adds to the decision of a step what became of it. */
  async noteGuide(run: Attempt, number: number, guide: StepGuide): Promise<void> {
    await asAttempt('generations', this.#engine, run, {}, (tx) =>
      tx
        .updateTable('generation_steps')
        .set({ guide: JSON.stringify(guide) })
        .where('generation_id', '=', run.id)
        .where('number', '=', number)
        .execute(),
    )
  }

  async suspendCall(run: Attempt, call: CallKey, awaits: Wait): Promise<void> {
    await asAttempt('generations', this.#engine, run, {}, (tx) =>
      at(tx.updateTable('generation_calls').set({ awaits: JSON.stringify(awaits) }), call).execute(),
    )
  }

  /** Paused runs of a project with a call that waits for an account. */
  async waitingForConnection(projectId: string): Promise<string[]> {
    const rows = await this.#engine.db
      .selectFrom('generation_calls')
      .innerJoin('generations', 'generations.id', 'generation_calls.generation_id')
      .select('generations.id')
      .distinct()
      .where('generations.project_id', '=', projectId)
      .where('generations.status', '=', 'requires_action')
      .where('generation_calls.output', 'is', null)
      .where('generation_calls.awaits', 'like', '%"kind":"connection"%')
      .execute()
    return rows.map(({ id }) => id)
  }

  /** Stores the output of a call. The first output wins; returns false if there was one. */
  async finishCall(call: CallKey, output: Json, isError: boolean): Promise<boolean> {
    const updated = await at(
      this.#engine.db
        .updateTable('generation_calls')
        .set({ output: JSON.stringify(output), is_error: Number(isError), completed_at: Date.now() }),
      call,
    )
      .where('output', 'is', null)
      .executeTakeFirst()
    return updated.numUpdatedRows === 1n
  }

  async findCall(call: CallKey): Promise<JournalCall> {
    const row = await at(this.#engine.db.selectFrom('generation_calls').selectAll(), call).executeTakeFirstOrThrow()
    return toCall(row)
  }
}

interface Narrowed {
  where(column: 'generation_id' | 'step' | 'position', operator: '=', value: string | number): this
}

/** Narrows a query to one call. */
export const at = <Query extends Narrowed>(query: Query, { generation_id, step, position }: CallKey): Query =>
  query.where('generation_id', '=', generation_id).where('step', '=', step).where('position', '=', position)
