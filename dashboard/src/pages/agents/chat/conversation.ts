import type { GenerationEvent } from 'quartermaster/sdk'
import { ask, Failure, qm } from '../../../api.ts'
import { setSession } from '../../../queries.ts'
import {
  applyEvent,
  goesOn,
  isOver,
  type Message,
  messagesOf,
  newTurn,
  type Problem,
  settled,
  type Turn,
  turnsOf,
} from './turns.ts'

export interface Output {
  readonly tool_call_id: string
  readonly output: unknown
  readonly is_error?: boolean
}

export interface State {
  readonly turns: readonly Turn[]
  /** The connection was lost and is being restored. */
  readonly isAway: boolean
  readonly isLoading: boolean
  readonly problem: unknown
}

const nothing: State = { turns: [], isAway: false, isLoading: false, problem: undefined }

/** How often the page renders incoming events. */
const renderMs = 50
/** How often a waiting run is polled. */
const pollEvery = 1000

/**
 * A conversation with an agent. Each turn is a run of its own, with all earlier turns as its history. The last run may be
 * in progress: it is streamed until it ends, also while it waits for an approval. A conversation can be reopened from its
 * last run, which holds everything.
 */
export class Conversation {
  readonly #agentId: string
  readonly #onStarted: (generationId: string | null) => void
  readonly #listeners = new Set<() => void>()
  #state: State = nothing
  #shown: State = nothing
  #preface: Message[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #listening = new AbortController()

  constructor(agentId: string, onStarted: (generationId: string | null) => void) {
    this.#agentId = agentId
    this.#onStarted = onStarted
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  readonly snapshot = (): State => this.#shown

  get lastRun(): string | null {
    return this.#state.turns.at(-1)?.generationId ?? null
  }

  #set(change: Partial<State>): void {
    this.#state = { ...this.#state, ...change }
    this.#timer ??= setTimeout(() => this.#show(), renderMs)
  }

  /** Renders the user’s own action immediately, because their next action refers to what they see. */
  #setNow(change: Partial<State>): void {
    this.#set(change)
    this.#show()
  }

  #show(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#shown = this.#state
    for (const listener of this.#listeners) listener()
  }

  #change(key: string, change: (turn: Turn) => Turn): void {
    const { turns } = this.#state
    const index = turns.findLastIndex((turn) => turn.key === key)
    if (index >= 0) this.#set({ turns: turns.with(index, change(turns[index] as Turn)) })
  }

  #hear(key: string, event: GenerationEvent, signal: AbortSignal): void {
    // Ignore responses for a conversation that the user has left.
    if (signal.aborted) return
    this.#change(key, (turn) => applyEvent(turn, event))
    if (event.type === 'generation.started') this.#onStarted(event.generation_id)
  }

  #refuse(key: string, error: Problem): void {
    this.#change(key, (turn) => ({ ...turn, status: turn.generationId ? 'failed' : 'refused', problem: error }))
  }

  /** Stops listening to the last run, which continues on the platform. */
  close(): void {
    this.#listening.abort()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Resumes listening to a run in progress. */
  resume(): void {
    const last = this.#state.turns.at(-1)
    if (!this.#listening.signal.aborted || !last?.generationId || isOver(last)) return
    void this.#follow(last.key, last.generationId, this.#startOver())
  }

  #startOver(): AbortSignal {
    this.#listening.abort()
    this.#listening = new AbortController()
    return this.#listening.signal
  }

  begin(): void {
    this.#startOver()
    this.#preface = []
    this.#setNow(nothing)
    this.#onStarted(null)
  }

  /** Opens the conversation that ends with a run. */
  async open(generationId: string): Promise<void> {
    const signal = this.#startOver()
    this.#set({ ...nothing, isLoading: true })
    try {
      const run = await ask(qm.agents.getGeneration({ path: { generation_id: generationId }, signal }))
      const { preface, turns } = turnsOf(run.input)
      const last: Turn = { ...(turns.pop() ?? newTurn('')), generationId, status: 'in_progress', traceId: run.trace_id }
      this.#preface = preface
      this.#set({ ...nothing, turns: [...turns, last] })
      await this.#follow(last.key, generationId, signal)
    } catch (problem) {
      if (!signal.aborted) this.#set({ ...nothing, problem })
    }
  }

  async send(text: string): Promise<void> {
    const signal = this.#startOver()
    const before = this.#state.turns
    const turn = newTurn(text)
    this.#setNow({ turns: [...before, turn], problem: undefined })
    // A refused message is not part of the conversation.
    const past = before.filter(({ status }) => status !== 'refused').flatMap(messagesOf)
    const messages = [...this.#preface, ...past, { role: 'user' as const, content: text }]
    const { data, error, response } = await qm.agents.stream(this.#agentId, { messages, signal })
    if (signal.aborted) return
    if (error) {
      if (response?.status === 401) setSession(null)
      return this.#refuse(turn.key, error)
    }
    try {
      for await (const event of data) this.#hear(turn.key, event, signal)
    } catch {
      // The stream broke, but the run continues.
    }
    const generationId = this.lastRun
    if (signal.aborted) return
    if (generationId === null) {
      return this.#refuse(turn.key, {
        code: 'NETWORK',
        message: 'The connection was lost before the agent started. Send the message again.',
        details: {},
      })
    }
    await this.#follow(turn.key, generationId, signal)
  }

  /** Sends the last message again and replaces its result. */
  readonly again = (): void => {
    const last = this.#state.turns.at(-1)
    if (!last || !isOver(last) || typeof last.content !== 'string') return
    this.#set({ turns: this.#state.turns.slice(0, -1) })
    void this.send(last.content)
  }

  /** Listens until the run ends, and again when something happened while it was waiting. */
  async #follow(key: string, generationId: string, signal: AbortSignal): Promise<void> {
    let seen = ''
    for (let wait = 500; !signal.aborted; ) {
      const turn = this.#state.turns.find((one) => one.key === key)
      if (!turn || isOver(turn)) return
      if (turn.status === 'requires_action') {
        const now = await this.#fingerprint(turn, signal)
        if (now === undefined || now.mark === seen) {
          await sleep(now ? pollEvery : pollEvery * 5, signal)
          continue
        }
        seen = now.mark
        if (!now.isWaiting) this.#change(key, goesOn)
      }
      const { data, error, response } = await qm.agents.watchGeneration({
        path: { generation_id: generationId },
        signal,
      })
      if (signal.aborted) return
      if (response?.status === 401) return setSession(null)
      if (error && response && response.status < 500) return this.#refuse(key, error)
      try {
        if (data) {
          wait = 500
          if (this.#state.isAway) this.#set({ isAway: false })
          for await (const event of data) this.#hear(key, event.data as unknown as GenerationEvent, signal)
          continue
        }
      } catch {
        // The stream broke. The loop reconnects.
      }
      if (signal.aborted) return
      this.#set({ isAway: true })
      await sleep(wait, signal)
      wait = Math.min(wait * 2, 10_000)
    }
  }

  /** A fingerprint of the state of the run and the runs it started. Undefined if it cannot be read. */
  async #fingerprint({ traceId, generationId }: Turn, signal: AbortSignal) {
    const query = { ...(traceId && { trace_id: traceId }), limit: 500 }
    const { data, response } = await qm.agents.listGenerations({ query, signal })
    if (response?.status === 401 && !signal.aborted) setSession(null)
    if (!data) return undefined
    return {
      mark: data.data.map(({ id, status, last_activity_at }) => `${id} ${status} ${last_activity_at}`).join('\n'),
      isWaiting: !data.data.some(({ id, status }) => id === generationId && status !== 'requires_action'),
    }
  }

  async stop(): Promise<void> {
    const turn = this.#state.turns.at(-1)
    if (!turn || isOver(turn)) return
    if (turn.generationId === null) {
      this.#startOver()
      return this.#change(turn.key, (one) => ({ ...one, status: 'cancelled', stopReason: 'cancelled' }))
    }
    const { data, error } = await qm.agents.cancelGeneration({ path: { generation_id: turn.generationId } })
    if (error) return this.#set({ problem: new Failure(error) })
    this.#change(turn.key, (one) => settled(one, data))
  }

  /** Submits tool outputs. The run then continues. */
  readonly submit = async (outputs: readonly Output[]): Promise<void> => {
    const turn = this.#state.turns.at(-1)
    if (!turn?.generationId) return
    const path = { agent_id: this.#agentId, generation_id: turn.generationId }
    const result = await ask(qm.agents.submitToolOutputs({ path, body: { tool_outputs: [...outputs], async: true } }))
    const signal = this.#startOver()
    this.#change(turn.key, (one) => ({ ...one, status: 'in_progress', required: undefined }))
    void this.#follow(turn.key, result.id, signal)
  }
}

const sleep = (milliseconds: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
