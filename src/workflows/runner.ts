import type { Logger } from 'pino'
import type { Jobs } from '../jobs/jobs.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { Turns } from '../lib/turns.ts'
import { type ErrorCode, PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { callerStateOf } from '../model/mode.ts'
import { Waiting } from '../model/outcome.ts'
import { done, type Output } from '../model/tool.ts'
import { isRunOver, type RunStatus } from '../model/workflow-run.ts'
import type { JournalStep, NewRun, StoredRun } from '../store/workflow-runs.ts'
import type { Execution } from '../tools/tool-type.ts'
import type { Workflow } from '../tools/workflow/definition.ts'
import { type Advance, advance, advanceWorkflow, principalOf } from './advance.ts'
import { Cancelled, type RunDeps } from './deps.ts'

const queue = 'workflow'
const concurrency = 200
const sweepEvery = 30_000
/** A run in progress without activity for this long is enqueued again. */
const silence = 60_000
/** After this many unexpected errors in a row, the run fails. */
const maxFaults = 5
/** Change events can be lost, so waiting callers also poll. */
const pollMs = 5000
/** Events can arrive before the step that waits for them, but not without end. */
const maxUnusedEvents = 100

export interface RunnerDeps extends Omit<RunDeps, 'cancel' | 'mayRetry' | 'turns'> {
  readonly jobs: Jobs
  readonly log: Logger
  /** How programs advance. */
  readonly advanceCode?: Advance
  /** Wakes the agent run that waits for a workflow. */
  resumeGeneration(id: string): Promise<void>
}

/** Starts runs of workflows, runs their jobs, and wakes callers that wait for them. The states are in `advance.ts`. */
export class WorkflowRunner {
  readonly #deps: RunnerDeps
  readonly #underWay = new Map<string, AbortController>()
  /** Unexpected errors in a row, per run, in this process. */
  readonly #faults = new Map<string, number>()
  readonly #sweeper: NodeJS.Timeout
  readonly #closing = new AbortController()
  readonly #turns = new Turns()

  constructor(deps: RunnerDeps) {
    this.#deps = deps
    deps.store.changes.subscribe('workflow_runs', (ids, data) => {
      if (!isObject(data) || data.cancel !== true) return
      for (const id of ids) this.#underWay.get(id)?.abort(new Cancelled())
    })
    this.#sweeper = setInterval(() => void this.#sweep(), sweepEvery)
    this.#sweeper.unref()
  }

  /** Starts to process runs. */
  async work(): Promise<void> {
    await this.#deps.jobs.work(queue, (id, lease) => this.#advance(id, lease), { concurrency })
    await this.#sweep()
  }

  /** Releases waiting callers. Their runs continue in another process, or after the next start. */
  close(): void {
    clearInterval(this.#sweeper)
    this.#closing.abort()
  }

  /** Writes the row, then enqueues its job. Returns the run that the same call has started, if there is one. */
  async start(fresh: NewRun): Promise<StoredRun> {
    const { run, isNew } = await this.#deps.store.workflowRuns.create(fresh)
    if (isNew || !isRunOver(run.status)) await this.wake(run.id)
    return run
  }

  wake(id: string, after?: number): Promise<void> {
    return this.#deps.jobs.enqueue(queue, id, { after })
  }

  /** Wakes the run that makes a call, because something that the call waited for has arrived. */
  async wakeCaller(callId: string | null): Promise<void> {
    const id = callId === null ? undefined : await this.#deps.store.workflowRuns.idOfCaller(callId)
    if (id !== undefined) await this.wake(id)
  }

  /** Wakes the runs of a project that wait for an account. */
  async connected(projectId: string): Promise<void> {
    for (const id of await this.#deps.store.workflowRuns.waitingForConnection(projectId)) await this.wake(id)
  }

  /** Executes a call of a workflow tool. */
  async call(execution: Execution, workflow: Workflow): Promise<Output | Waiting> {
    const { callId, run: options, onWait, signal } = execution
    const known = await this.#deps.store.workflowRuns.findByCall(callId)
    const run = known ?? (await this.start(await this.#runOf(execution, workflow)))
    if (options?.detach) return new Waiting({ kind: 'workflow', id: run.id })
    return this.outcome(run.id, { signal, resumes: onWait === 'resume' })
  }

  async #runOf({ tool, input, run: options, ...call }: Execution, workflow: Workflow): Promise<NewRun> {
    const steps = options?.from ? await this.#recordedSteps(options.from, tool.project_id) : []
    return {
      ...newRun({ ...call, projectId: tool.project_id }),
      ...{ kind: 'workflow', tool_id: tool.id, name: tool.name, input, steps },
      rerun_of: options?.from?.runId ?? null,
      settings: { ...settingsOf({ ...call, run: options }), definition: workflow as unknown as JsonObject },
    }
  }

  /** The finished steps of another run, up to one that is run again. */
  async #recordedSteps({ runId, step }: { runId: string; step: string }, projectId: string): Promise<JournalStep[]> {
    const { workflowRuns } = this.#deps.store
    const run = await workflowRuns.find(runId)
    if (run?.project_id !== projectId)
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'workflow-run', id: runId })
    const { steps } = run.settings.definition as { steps: { id: string }[] }
    const before = new Set(
      steps
        .slice(
          0,
          steps.findIndex(({ id }) => id === step),
        )
        .map(({ id }) => id),
    )
    return (await workflowRuns.journal(runId)).steps.filter((one) => before.has(one.step) && one.completed_at !== null)
  }

  /** Waits for a run, and returns its output or throws its error. */
  async outcome(
    id: string,
    { signal, resumes }: { readonly signal: AbortSignal; readonly resumes: boolean },
  ): Promise<Output | Waiting> {
    const stands = (status: RunStatus) => isRunOver(status) || (resumes && status === 'waiting')
    const run = await this.settled(id, stands, signal)
    if (isRunOver(run.status)) return outputOf(run)
    if (signal.aborted && isCancel(signal.reason)) {
      await this.cancel(id)
      throw signal.reason
    }
    // An agent or another run makes the call again.
    if (resumes) return new Waiting({ kind: 'workflow', id })
    if (this.#closing.signal.aborted && !signal.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    throw await this.#stillRunning(run)
  }

  async #stillRunning({ id, name, status }: StoredRun): Promise<PlatformError> {
    const { calls } = await this.#deps.store.workflowRuns.journal(id)
    const approval_ids = calls.flatMap(({ awaits, output }) =>
      output === undefined && awaits?.kind === 'approval' ? [awaits.id] : [],
    )
    return new PlatformError('WORKFLOW_RUNNING', { workflow: name, run_id: id, status, approval_ids })
  }

  /** Waits until the status of the run satisfies `stands`, the signal aborts, or this process shuts down. */
  async settled(id: string, stands: (status: RunStatus) => boolean, signal?: AbortSignal): Promise<StoredRun> {
    const { store } = this.#deps
    let wake = Promise.withResolvers<void>()
    const check = () => wake.resolve()
    const stop = store.changes.subscribe('workflow_runs', (ids) => {
      if (ids.length === 0 || ids.includes(id)) check()
    })
    const timer = setInterval(check, pollMs)
    const signals = [this.#closing.signal, ...(signal ? [signal] : [])]
    for (const one of signals) one.addEventListener('abort', check)
    try {
      for (;;) {
        // Before the read, so that no change is missed while it runs.
        wake = Promise.withResolvers()
        const run = await store.workflowRuns.find(id)
        if (!run) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'workflow-run', id })
        if (stands(run.status) || signals.some(({ aborted }) => aborted)) return run
        await wake.promise
      }
    } finally {
      stop()
      clearInterval(timer)
      for (const one of signals) one.removeEventListener('abort', check)
    }
  }

  /** False if it was already over. */
  async cancel(id: string): Promise<boolean> {
    const asked = await this.#deps.store.workflowRuns.requestCancel(id)
    if (asked) await this.wake(id)
    return asked
  }

  /** Stores an event for a run, and wakes the run. */
  async send(run: StoredRun, name: string, data: Json): Promise<void> {
    const added = await this.#deps.store.workflowRuns.addEvent(run.id, name, data, maxUnusedEvents)
    if (added === 'over') throw new PlatformError('RUN_OVER', { run_id: run.id, status: await this.#statusOf(run) })
    if (added === 'full') throw new PlatformError('EVENT_LIMIT', { run_id: run.id, limit: maxUnusedEvents })
    await this.wake(run.id)
  }

  async #statusOf({ id, status }: StoredRun): Promise<RunStatus> {
    return (await this.#deps.store.workflowRuns.find(id))?.status ?? status
  }

  /** Continues a failed or cancelled run at the step that failed. */
  async reopen(run: StoredRun): Promise<void> {
    const reopened = await this.#deps.store.workflowRuns.reopen(run.id)
    if (!reopened) throw new PlatformError('RUN_NOT_RESUMABLE', { run_id: run.id, status: run.status })
    await this.wake(run.id)
  }

  async #advance(id: string, lease: AbortSignal): Promise<void> {
    const cancel = new AbortController()
    this.#underWay.set(id, cancel)
    try {
      const kinds = { workflow: advanceWorkflow, ...(this.#deps.advanceCode && { code: this.#deps.advanceCode }) }
      const result = await advance(id, { stop: lease, cancel: cancel.signal }, kinds, this.#runDeps())
      this.#faults.delete(id)
      if (result?.wakeAt) await this.wake(id, result.wakeAt - Date.now())
      const run = await this.#deps.store.workflowRuns.find(id)
      if (run && isRunOver(run.status)) await this.#afterwards(run)
    } finally {
      this.#underWay.delete(id)
    }
  }

  /** Runs before the job completes, so that after a crash the next attempt does it. Each of these is idempotent. */
  async #afterwards(run: StoredRun): Promise<void> {
    const { store, resumeGeneration } = this.#deps
    await this.wakeCaller(run.call_id)
    if (run.settings.resumes) {
      if (run.generation_id !== null) await resumeGeneration(run.generation_id)
      return
    }
    if (!isRunOver(run.status) || run.call_id === null) return
    // Its caller may have gone, with the process that it waited in. The first one to complete the record counts.
    const [record] = await store.calls.findMany([run.call_id])
    if (record?.status === 'pending') await this.#conclude(run, Date.parse(record.created_at))
  }

  async #conclude(run: StoredRun, begunAt: number): Promise<void> {
    const { authenticator, conclude } = this.#deps
    const principal = await principalOf(run, authenticator).catch(() => undefined)
    if (!principal) return
    const { surface, client } = run.settings
    const request = {
      ...{ id: run.call_id as string, principal, surface, client, toolId: run.tool_id ?? '', action: undefined },
      ...{ input: run.input, parentCallId: null, depth: run.depth, begunAt },
    }
    const result = resultOf(run)
    await conclude(request, result instanceof PlatformError ? result : done(result.output))
  }

  #mayRetry({ id }: StoredRun): boolean {
    const faults = (this.#faults.get(id) ?? 0) + 1
    this.#faults.set(id, faults)
    return faults < maxFaults
  }

  async #sweep(): Promise<void> {
    try {
      const left = await this.#deps.store.workflowRuns.overdue(Date.now() - silence)
      for (const id of left) if (!this.#underWay.has(id)) await this.wake(id)
    } catch (err) {
      this.#deps.log.warn({ err }, 'could not check for interrupted workflow runs')
    }
  }

  #runDeps(): RunDeps {
    return {
      ...this.#deps,
      turns: this.#turns,
      cancel: (id) => this.cancel(id),
      mayRetry: (run) => this.#mayRetry(run),
    }
  }
}

const isCancel = (reason: unknown): boolean => reason instanceof PlatformError && reason.code === 'CALL_CANCELLED'

/** The output of a run that is over, or its error. */
export function resultOf({ status, output, error, name, id }: StoredRun): { readonly output: Json } | PlatformError {
  if (status === 'completed') return { output }
  if (!error) return new PlatformError('WORKFLOW_CANCELLED', { workflow: name, run_id: id })
  return new PlatformError(error.code as ErrorCode, error.details as never)
}

function outputOf(run: StoredRun): Output {
  const result = resultOf(run)
  if (result instanceof PlatformError) throw result
  return done(result.output)
}

/** The caller, and the call that starts a run. */
export type Starter = Pick<Execution, 'principal' | 'generation' | 'context' | 'home' | 'depth'> & {
  readonly callId: string | null
}

export const newRun = ({
  principal,
  generation,
  depth,
  callId,
  projectId,
}: Starter & { readonly projectId: string }): Omit<NewRun, 'kind' | 'tool_id' | 'name' | 'input' | 'settings'> => ({
  id: newId('wfr'),
  project_id: projectId,
  dry_run: false,
  call_id: callId,
  generation_id: generation?.id ?? null,
  agent_id: generation?.agentId ?? null,
  rerun_of: null,
  depth,
  started_by: { id: principal.id, name: principal.name },
})

export const settingsOf = ({
  principal,
  context,
  home,
  onWait,
  run,
}: Starter & Partial<Pick<Execution, 'onWait' | 'run'>>): Omit<NewRun['settings'], 'definition'> => ({
  boundaries: principal.boundaries ?? [],
  caller: callerStateOf(principal),
  end_user_id: principal.endUserId,
  scopes: principal.token?.scopes ?? null,
  context: context ?? {},
  surface: 'workflow',
  client: { name: null, version: null },
  home: home ?? null,
  resumes: onWait === 'resume' && !run?.detach,
})
