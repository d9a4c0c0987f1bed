import type { Logger } from 'pino'
import type { JsonObject } from '../../lib/json.ts'
import { KeyedMutex } from '../../lib/keyed-mutex.ts'
import type { Agent } from '../../model/agent.ts'
import { PlatformError } from '../../model/errors.ts'
import { type GenerationResult, type GenerationSettings, isOver } from '../../model/generation.ts'
import type { Guide } from '../../model/guide.ts'
import { newId } from '../../model/ids.ts'
import { withModes } from '../../model/mode.ts'
import type { GuideState, SessionEvent } from '../../model/session.ts'
import type { Run } from '../../store/generations.ts'
import type { NewEvent, SessionRecord, TurnCaller } from '../../store/sessions.ts'
import type { Store } from '../../store/store.ts'
import { iterationsOf } from '../guide/limits.ts'
import type { Runner } from '../runner.ts'
import { endEvents, statusEvent } from './turn-events.ts'

/** How often sessions are looked for whose turn was never started, because a process died. */
const sweepEvery = 5000

export interface SessionRunnerDeps {
  readonly store: Store
  readonly runner: Pick<Runner, 'cancel' | 'wake'>
  readonly log: Logger
  /** What the guide remembers after the turn; undefined without a guide. */
  stateAfter(run: Run, session: SessionRecord): Promise<GuideState | undefined>
  /** Called when a turn is over, before the next one can start. May be called twice. */
  onTurnEnd(run: Run, session: SessionRecord): Promise<void>
}

/** Who a turn runs as, and how the request came in. */
export interface TurnOrigin {
  readonly principal: TurnCaller
}

/**
 * Starts the turns of sessions, one at a time. An event that needs a turn is stored together with the wish for one
 * (`wanted`), so that after a crash another process starts it.
 */
export class SessionRunner {
  readonly #deps: SessionRunnerDeps
  readonly #mutex = new KeyedMutex()
  readonly #sweeper: NodeJS.Timeout

  constructor(deps: SessionRunnerDeps) {
    this.#deps = deps
    this.#sweeper = setInterval(() => void this.sweep(), sweepEvery)
    this.#sweeper.unref()
  }

  close(): void {
    clearInterval(this.#sweeper)
  }

  /** Appends an event. With `wanted`, a turn starts, and cancels the one in progress unless its reply has begun. */
  async append(
    sessionId: string,
    event: NewEvent,
    { wanted, origin }: { readonly wanted: boolean; readonly origin: TurnOrigin },
  ): Promise<{ event: SessionEvent; isNew: boolean }> {
    const as = wanted ? origin.principal : undefined
    const [appended] = (await this.#deps.store.sessions.append(sessionId, [event], { wanted, as })) ?? []
    if (!appended) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'session', id: sessionId })
    if (wanted) await this.advance(sessionId)
    return appended
  }

  /** Starts the turn that is wanted, or cancels the one that stands in its way. */
  advance(sessionId: string): Promise<void> {
    return this.#mutex.run(sessionId, () => this.#advance(sessionId))
  }

  async #advance(sessionId: string): Promise<void> {
    const { store, runner } = this.#deps
    for (;;) {
      const session = await store.sessions.find(sessionId)
      if (!session || session.wanted === null) return
      const { generation_id: turn } = session
      if (turn === null) {
        if (await this.#start(session)) return
        continue
      }
      const run = await store.generations.find(turn)
      if (run && !isOver(run.status)) {
        // Once it is over, `onRest` starts the next one.
        await runner.cancel(turn, { unlessReplied: true })
        return
      }
      if (run) await this.settle(run)
      else await store.sessions.endTurn(sessionId, turn, [], undefined)
    }
  }

  /** False if another process was faster. */
  async #start(session: SessionRecord): Promise<boolean> {
    const { store, runner } = this.#deps
    const agent = await store.agents.find(session.agent_id)
    if (!agent) {
      const data = {
        status: 'error' as const,
        error: { code: 'RESOURCE_NOT_FOUND', message: 'The agent was deleted.' },
      }
      await store.sessions.append(session.id, [{ kind: 'status', source: 'system', data }])
      await store.sessions.unwant(session.id)
      return true
    }
    const { guide_id = null } = (await store.agents.guideOf(agent.id)) ?? {}
    const guide = guide_id === null ? undefined : await store.guides.find(guide_id)
    const id = newId('agt_gen')
    const trace_id = id.replace('agt_gen', 'trace')
    const started = await store.sessions.startTurn(
      session.id,
      ({ project_id, next_offset, principal, caller, mode }) => ({
        generation: {
          ...{ id, trace_id, project_id, agent_id: agent.id, session_id: session.id },
          parent_generation_id: null,
          parent_call_id: null,
          depth: 0,
          principal,
          surface: 'rest',
          client: { name: null, version: null },
          settings: settingsOf(agent, guide, next_offset, { ...session, caller, mode }),
          input: [],
        },
        events: [statusEvent({ id, trace_id }, 'acknowledged'), statusEvent({ id, trace_id }, 'processing')],
      }),
    )
    if (started) await runner.wake(id)
    return started !== undefined
  }

  /** Called when a run has ended or paused. */
  async onRest(run: Run, { required_action }: Pick<GenerationResult, 'required_action'>): Promise<void> {
    if (run.session_id === null) return
    if (required_action) await this.#report(run, required_action)
    if (!isOver(run.status)) return
    await this.settle(run)
    await this.advance(run.session_id)
  }

  /** A turn that waits for an approval or for the output of a client tool says so. */
  async #report(run: Run, required: NonNullable<GenerationResult['required_action']>): Promise<void> {
    const ids = [
      ...required.tool_calls.map((one) => one.tool_call_id),
      ...(required.approvals ?? []).map((one) => one.approval_id),
    ]
    const data = { type: 'requires_action', generation_id: run.id, required_action: required } as unknown as JsonObject
    const event: NewEvent = {
      ...{ kind: 'custom', source: 'system', data: { data } },
      ...{ key: `${run.id}/waits/${ids.join()}`, generation_id: run.id, trace_id: run.trace_id },
    }
    await this.#deps.store.sessions.append(run.session_id as string, [event])
  }

  /** Appends the last events of a turn that is over. Idempotent. */
  async settle(run: Run): Promise<void> {
    const { store, stateAfter, onTurnEnd } = this.#deps
    const session = await store.sessions.find(run.session_id as string)
    if (!session) return
    if (session.generation_id !== run.id) return
    const state = await stateAfter(run, session)
    await onTurnEnd(run, session)
    await store.sessions.endTurn(session.id, run.id, endEvents(run), state)
  }

  /** Starts turns that are wanted and that no process has started. */
  async sweep(): Promise<void> {
    try {
      for (const id of await this.#deps.store.sessions.unfinished()) await this.advance(id)
    } catch (err) {
      this.#deps.log.warn({ err }, 'could not start the turns of sessions')
    }
  }
}

/** Steps beyond the iterations of the guide: variables, the reply, its rewrite, and one to spare. */
const extraSteps = 4

function settingsOf(
  agent: Agent,
  guide: Guide | undefined,
  before: number,
  { id: sessionId, end_user_id, run, state, caller, mode }: SessionRecord,
): GenerationSettings {
  const { ai_provider_id, model, instructions, tool_ids, temperature, max_context_messages, boundary_policy } = agent
  const { active_tool_ids, tool_choice, stop_conditions, step_rules } = agent
  return {
    ...{ ai_provider_id, model, instructions, tool_ids, temperature, max_context_messages },
    ...{ active_tool_ids, tool_choice, stop_conditions, step_rules },
    max_steps: guide ? iterationsOf(guide, run) + extraSteps : agent.max_steps,
    boundaries: boundary_policy
      ? [[{ policyId: `${agent.id}/boundary_policy`, statements: boundary_policy.statement }]]
      : [],
    caller: withModes(caller, agent.mode, mode),
    max_call_depth: 10,
    tool_context: { sessionId, ...(end_user_id !== null && isHeader(end_user_id) && { endUserId: end_user_id }) },
    streamed: true,
    turn: { before, guide_id: guide?.id ?? null, state },
  }
}

/** The context is sent to tools in headers. */
const isHeader = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)
