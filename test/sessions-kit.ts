import { expect } from 'vitest'
import type { SessionEvent } from '../src/model/session.ts'
import type { Answer, TestPlatform } from './kit.ts'

let count = 0

/** An agent whose model plays a script. */
export async function scriptedAgent(platform: TestPlatform, steps: object[], fields: object = {}): Promise<string> {
  const provider = await platform.post('/ai-providers', {
    name: `script-${++count}`,
    type: 'replay',
    default_model: 'scripted',
    script: { steps },
  })
  expect(provider.status, JSON.stringify(provider.body)).toBe(201)
  const name = `agent-${++count}`
  const agent = await platform.post('/agents', { name, ai_provider_id: provider.body.id, ...fields })
  expect(agent.status, JSON.stringify(agent.body)).toBe(201)
  return agent.body.id
}

/** A session as a client uses it. */
export class TestSession {
  readonly id: string
  readonly #platform: Pick<TestPlatform, 'get' | 'post' | 'patch'>

  constructor(platform: Pick<TestPlatform, 'get' | 'post' | 'patch'>, id: string) {
    this.#platform = platform
    this.id = id
  }

  static async start(
    platform: Pick<TestPlatform, 'get' | 'post' | 'patch'>,
    agent: string,
    fields: object = {},
  ): Promise<TestSession> {
    const made = await platform.post('/sessions', { agent_id: agent, ...fields })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return new TestSession(platform, made.body.id)
  }

  async get(): Promise<Answer['body']> {
    return (await this.#platform.get(`/sessions/${this.id}`)).body
  }

  patch(body: object): Promise<Answer> {
    return this.#platform.patch(`/sessions/${this.id}`, body)
  }

  async events(query = ''): Promise<SessionEvent[]> {
    return (await this.#platform.get(`/sessions/${this.id}/events${query}`)).body.data
  }

  inject(body: object): Promise<Answer> {
    return this.#platform.post(`/sessions/${this.id}/tool_events`, body)
  }

  async send(message: string, fields: object = {}): Promise<Answer> {
    const sent = await this.#platform.post(`/sessions/${this.id}/messages`, { message, ...fields })
    expect(sent.status, JSON.stringify(sent.body)).toBe(202)
    return sent
  }

  /** Sends a message and waits until the session is ready. Returns the events since the message. */
  async say(message: string): Promise<SessionEvent[]> {
    const { body } = await this.send(message)
    return this.ready(body.offset)
  }

  /** Waits until no turn is in progress. Returns the events from an offset on. */
  async ready(from = 0): Promise<SessionEvent[]> {
    let next = from
    for (const deadline = Date.now() + 20_000; Date.now() < deadline; ) {
      const { body } = await this.#platform.get(`/sessions/${this.id}/events?min_offset=${next}&wait_for_data=5`)
      next = body === '' ? next : body.data.at(-1).offset + 1
      const { status } = await this.get()
      if (status === 'ready') return this.events(`?min_offset=${from}&limit=1000`)
    }
    throw new Error(`the session is not ready: ${JSON.stringify(await this.events())}`)
  }
}

/** The texts of the agent's messages. */
export const repliesIn = (events: readonly SessionEvent[]): (string | undefined)[] =>
  events.filter(({ kind, source }) => kind === 'message' && source === 'agent').map(({ message }) => message)

export const statusesIn = (events: readonly SessionEvent[]): (string | undefined)[] =>
  events.filter(({ kind }) => kind === 'status').map(({ status }) => status)

export const toolsIn = (events: readonly SessionEvent[]): SessionEvent[] => events.filter(({ kind }) => kind === 'tool')
