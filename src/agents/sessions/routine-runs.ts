import type { Outbound } from '../../http/outbound.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { Guide, Routine } from '../../model/guide.ts'
import { builtIns } from '../../model/guide.ts'
import { iso } from '../../model/page.ts'
import type { RoutineRun, RoutineRunState } from '../../model/session.ts'
import type { Run } from '../../store/generations.ts'
import type { SessionRecord, TurnCaller } from '../../store/sessions.ts'
import type { Store } from '../../store/store.ts'
import { post } from '../../webhooks/post.ts'
import { signed } from '../../webhooks/signature.ts'
import { emittedIn } from '../guide/built-ins.ts'
import { started } from '../guide/positions.ts'
import type { Runner } from '../runner.ts'
import type { SessionRunner } from './session-runner.ts'

/*
 * The run of an autonomous routine is a session with one turn. It is `running` until that turn ends or its time is over, then
 * `succeeded` with the output that built-in:emit_output has accepted, or `failed`. Its result is posted to the callback URL, in
 * a job that is retried.
 */

const queue = 'routine'
const maxCallbacks = 8

export interface RoutineRunsDeps {
  readonly store: Store
  readonly jobs: Jobs
  readonly outbound: Pick<Outbound, 'client'>
  readonly runner: Pick<Runner, 'cancel'>
  readonly sessionRunner: Pick<SessionRunner, 'append'>
  /** The value of a secret of a project. */
  secretOf(projectId: string, name: string): Promise<string>
}

export interface Trigger {
  readonly agent: { readonly id: string; readonly project_id: string }
  readonly routine: Routine
  readonly guide: Guide
  readonly input: JsonObject
  readonly callbackUrl: string | null
  readonly endUserId: string | null
  readonly principal: TurnCaller
}

export class RoutineRuns {
  readonly #deps: RoutineRunsDeps

  constructor(deps: RoutineRunsDeps) {
    this.#deps = deps
  }

  async work(): Promise<void> {
    await this.#deps.jobs.work(queue, (id) => this.#process(id), { concurrency: 20 })
  }

  async trigger({ agent, routine, input, callbackUrl, endUserId, principal }: Trigger): Promise<RoutineRun> {
    const { store, jobs, sessionRunner } = this.#deps
    const seconds = routine.autonomous?.timeout_seconds ?? null
    const run: RoutineRunState = {
      routine_id: routine.id,
      status: 'running',
      output: null,
      error: null,
      callback_url: callbackUrl,
      callback_secret: routine.autonomous?.callback_secret ?? null,
      completed_at: null,
      input,
      deadline: seconds === null ? null : Date.now() + seconds * 1000,
      callbacks: 0,
      called_back: false,
    }
    const session = await store.sessions.create({
      ...{ project_id: agent.project_id, agent_id: agent.id, end_user_id: endUserId, title: routine.title },
      ...{ metadata: { input }, principal, run },
      state: { routines: [started(routine, 'triggered')], once: [] },
    })
    if (seconds !== null) await jobs.enqueue(queue, session.id, { after: seconds * 1000 })
    const data = { tool_id: `trigger:${routine.id}`, arguments: {}, result: input }
    await sessionRunner.append(
      session.id,
      { kind: 'tool', source: 'integration', data },
      { wanted: true, origin: { principal } },
    )
    return runOf({ ...session, run })
  }

  /** Settles the run whose turn is over. */
  async onTurnEnd(turn: Run, session: SessionRecord): Promise<void> {
    const { run } = session
    if (run?.status !== 'running') return
    const { calls } = await this.#deps.store.journals.read(turn.id)
    const emitted = emittedIn(calls)
    const completed_at = iso(Date.now())
    const settled: RoutineRunState = emitted
      ? { ...run, status: 'succeeded', output: emitted.value, completed_at }
      : { ...run, status: 'failed', error: failureOf(turn, calls), completed_at }
    await this.#settle(session.id, settled)
  }

  async #settle(id: string, run: RoutineRunState): Promise<void> {
    const { store, jobs } = this.#deps
    await store.sessions.settleRun(id, run)
    if (run.callback_url !== null) await jobs.enqueue(queue, id)
  }

  /** Ends a run whose time is over, and posts the result of one that has ended. */
  async #process(id: string): Promise<void> {
    const { store, runner } = this.#deps
    const session = await store.sessions.find(id)
    const run = session?.run
    if (!session || !run) return
    if (run.status === 'running') {
      if (run.deadline === null || run.deadline > Date.now()) return
      const error = { code: 'timed_out', message: 'The routine did not end within its time limit.' }
      await this.#settle(id, { ...run, status: 'failed', error, completed_at: iso(Date.now()) })
      if (session.generation_id !== null) await runner.cancel(session.generation_id)
      return
    }
    if (run.callback_url !== null && !run.called_back && run.callbacks < maxCallbacks)
      await this.#callBack(session, run)
  }

  async #callBack(session: SessionRecord, run: RoutineRunState): Promise<void> {
    const { store, outbound, secretOf } = this.#deps
    const attempt = { ...run, callbacks: run.callbacks + 1 }
    await store.sessions.settleRun(session.id, attempt)
    const body = JSON.stringify(runOf({ ...session, run }))
    const { callback_secret: name = null } = run
    const secrets = name === null ? [] : [await secretOf(session.project_id, name)]
    const signature = secrets.length > 0 ? signed({ id: session.id, body, at: Date.now() }, secrets) : {}
    const { error } = await post(
      outbound.client({ project: session.project_id, credentials: ['callback', name ?? ''] }),
      {
        url: run.callback_url as string,
        headers: { ...signature, 'x-session-id': session.id },
        ...{ body, secrets },
      },
    )
    // Throwing retries the job, later each time.
    if (error !== null) throw new Error(`the callback of a routine failed: ${error}`)
    await store.sessions.settleRun(session.id, { ...attempt, called_back: true })
  }
}

/** A run as the API shows it. */
export const runOf = (session: SessionRecord & { readonly run: RoutineRunState }): RoutineRun => ({
  run_id: session.id,
  session_id: session.id,
  routine_id: session.run.routine_id,
  agent_id: session.agent_id,
  status: session.run.status,
  output: session.run.output,
  error: session.run.error,
  callback_url: session.run.callback_url,
  created_at: session.created_at,
  completed_at: session.run.completed_at,
})

type Calls = Parameters<typeof emittedIn>[0]

function failureOf(turn: Run, calls: Calls): NonNullable<RoutineRunState['error']> {
  if (turn.error) return { code: turn.error.code, message: turn.error.message }
  if (turn.status === 'cancelled') return { code: 'cancelled', message: 'The run was cancelled.' }
  const last = calls.findLast(({ tool_id, action }) => tool_id === null && action === builtIns.emitOutput)
  if (last && isObject(last.output)) {
    const details: Json = last.output.details ?? null
    return { code: String(last.output.error), message: 'The output does not match the output schema.', details }
  }
  return { code: 'no_output', message: 'The routine ended without an output.' }
}
