import type { GenerationEvent } from 'quartermaster/sdk'
import { ask, Failure, qm } from '../../../api.ts'
import { become } from '../../../queries.ts'
import {
  goesOn,
  heard,
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
  /** The connection broke, and is being made again. */
  readonly isAway: boolean
  readonly isLoading: boolean
  readonly problem: unknown
}

const nothing: State = { turns: [], isAway: false, isLoading: false, problem: undefined }

/** How often the page is told of what came in: nobody reads faster, and drawing costs. */
const beat = 50
/** How often a run that waits for someone is looked at. */
const lookEvery = 1000

/**
 * A conversation with an agent: turns, each of which is a run of its own that is given all that was said before. The
 * last one may be under way; it is listened to until it is over, also while it waits for an approval that someone else
 * decides. It can be left and opened again by its last run, which holds everything.
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
    this.#timer ??= setTimeout(() => this.#show(), beat)
  }

  /** What someone does is seen at once: what they do next is meant for what they see. */
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
    // What was on its way when someone went on to another conversation is not about that one.
    if (signal.aborted) return
    this.#change(key, (turn) => heard(turn, event))
    if (event.type === 'generation.started') this.#onStarted(event.generation_id)
  }

  #refuse(key: string, error: Problem): void {
    this.#change(key, (turn) => ({ ...turn, status: turn.generationId ? 'failed' : 'refused', problem: error }))
  }

  /** Nothing more is heard of the last run; it goes on all the same. */
  close(): void {
    this.#listening.abort()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Listens again where it was left in the middle. */
  resume(): void {
    const last = this.#state.turns.at(-1)
    if (!this.#listening.signal.aborted || !last?.generationId || isOver(last)) return
    void this.#follow(last.key, last.generationId, this.#anew())
  }

  #anew(): AbortSignal {
    this.#listening.abort()
    this.#listening = new AbortController()
    return this.#listening.signal
  }

  begin(): void {
    this.#anew()
    this.#preface = []
    this.#setNow(nothing)
    this.#onStarted(null)
  }

  /** Goes on with the conversation that a run was the last of. */
  async open(generationId: string): Promise<void> {
    const signal = this.#anew()
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
    const signal = this.#anew()
    const before = this.#state.turns
    const turn = newTurn(text)
    this.#setNow({ turns: [...before, turn], problem: undefined })
    // One that was refused was never said.
    const past = before.filter(({ status }) => status !== 'refused').flatMap(messagesOf)
    const messages = [...this.#preface, ...past, { role: 'user' as const, content: text }]
    const { data, error, response } = await qm.agents.stream(this.#agentId, { messages, signal })
    if (signal.aborted) return
    if (error) {
      if (response?.status === 401) become(null)
      return this.#refuse(turn.key, error)
    }
    try {
      for await (const event of data) this.#hear(turn.key, event, signal)
    } catch {
      // It broke off; the run did not.
    }
    const generationId = this.lastRun
    if (signal.aborted) return
    if (generationId === null) {
      return this.#refuse(turn.key, {
        code: 'NETWORK',
        message: 'The connection broke before the agent had begun. Send it again.',
        details: {},
      })
    }
    await this.#follow(turn.key, generationId, signal)
  }

  /** Says the last thing again, in place of what came of it. */
  readonly again = (): void => {
    const last = this.#state.turns.at(-1)
    if (!last || !isOver(last) || typeof last.content !== 'string') return
    this.#set({ turns: this.#state.turns.slice(0, -1) })
    void this.send(last.content)
  }

  /** Listens until the run is over, and again whenever something has happened while it rested. */
  async #follow(key: string, generationId: string, signal: AbortSignal): Promise<void> {
    let seen = ''
    for (let wait = 500; !signal.aborted; ) {
      const turn = this.#state.turns.find((one) => one.key === key)
      if (!turn || isOver(turn)) return
      if (turn.status === 'requires_action') {
        const now = await this.#look(turn, signal)
        if (now === undefined || now.mark === seen) {
          await sleep(now ? lookEvery : lookEvery * 5, signal)
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
      if (response?.status === 401) return become(null)
      if (error && response && response.status < 500) return this.#refuse(key, error)
      try {
        if (data) {
          wait = 500
          if (this.#state.isAway) this.#set({ isAway: false })
          for await (const event of data) this.#hear(key, event.data as unknown as GenerationEvent, signal)
          continue
        }
      } catch {
        // It broke off; it is asked for again below.
      }
      if (signal.aborted) return
      this.#set({ isAway: true })
      await sleep(wait, signal)
      wait = Math.min(wait * 2, 10_000)
    }
  }

  /** How the run and all that it started stand: a mark that changes with them. Undefined where that cannot be known. */
  async #look({ traceId, generationId }: Turn, signal: AbortSignal) {
    const query = { ...(traceId && { trace_id: traceId }), limit: 500 }
    const { data, response } = await qm.agents.listGenerations({ query, signal })
    if (response?.status === 401 && !signal.aborted) become(null)
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
      this.#anew()
      return this.#change(turn.key, (one) => ({ ...one, status: 'cancelled', stopReason: 'cancelled' }))
    }
    const { data, error } = await qm.agents.cancelGeneration({ path: { generation_id: turn.generationId } })
    if (error) return this.#set({ problem: new Failure(error) })
    this.#change(turn.key, (one) => settled(one, data))
  }

  /** Gives the run what it waits for; it goes on by itself. */
  readonly submit = async (outputs: readonly Output[]): Promise<void> => {
    const turn = this.#state.turns.at(-1)
    if (!turn?.generationId) return
    const path = { agent_id: this.#agentId, generation_id: turn.generationId }
    const result = await ask(qm.agents.submitToolOutputs({ path, body: { tool_outputs: [...outputs], async: true } }))
    const signal = this.#anew()
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
