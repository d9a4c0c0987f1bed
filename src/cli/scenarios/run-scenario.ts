import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'yaml'
import { readConfig } from '../../config.ts'
import { isObject } from '../../lib/json.ts'
import { createPlatform, type Platform } from '../../main.ts'
import { faultsOf } from '../../model/faults.ts'
import type { SessionEvent } from '../../model/session.ts'
import { type Expected, type Meanwhile, Scenario, type Turn } from './scenario.ts'
import { ScriptedModels } from './scripted-models.ts'
import { startStub } from './stub-server.ts'

export interface ScenarioResult {
  readonly name: string
  readonly failures: readonly string[]
  readonly modelCalls: number
}

/** Runs a scenario on a platform of its own, in a temporary folder, with the model replaced by the script. */
export async function runScenario(path: string): Promise<ScenarioResult> {
  const text = await readFile(path, 'utf8')
  const read = Scenario.safeParse(parse(text))
  if (!read.success) {
    const failures = faultsOf(read.error).map(({ path: at, message }) => `${at}: ${message}`)
    return { name: path, failures, modelCalls: 0 }
  }
  const scenario = read.data
  const name = scenario.name ?? path
  const models = new ScriptedModels(scenario.model)
  const data = await mkdtemp(join(tmpdir(), 'quartermaster-scenario-'))
  const stubs = await Promise.all(
    Object.entries(scenario.servers).map(async ([id, tools]) => ({
      id,
      ...(await startStub(tools, (one) => models.interrupt(one))),
    })),
  )
  const key = `sk_${randomUUID()}`
  const settings = { QM_DATA: data, QM_ADMIN_KEY: key, QM_LOG_LEVEL: 'silent', QM_EMBEDDINGS: 'off' }
  let platform: Platform | undefined
  try {
    platform = await createPlatform(readConfig({}, settings), { models: () => models })
    const manifest = await manifestOf(scenario, path, new Map(stubs.map(({ id, port }) => [id, port])))
    const failures = await play(scenario, manifest, models, clientOf(platform, key))
    return { name, failures: [...failures, ...models.failures, ...models.unused()], modelCalls: models.calls }
  } finally {
    await platform?.close()
    await Promise.all(stubs.map((stub) => stub.close()))
    await rm(data, { recursive: true, force: true })
  }
}

type Client = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; body: Record<string, unknown> }>

const clientOf =
  (platform: Platform, key: string): Client =>
  async (method, path, body) => {
    const response = await platform.fetch(`http://scenario.test/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }

/** The manifest with the scenario's overrides, its model, and its stand-ins for servers. */
async function manifestOf(scenario: Scenario, path: string, ports: ReadonlyMap<string, number>): Promise<string> {
  const given = scenario.manifest
  const value: unknown = typeof given === 'string' ? parse(await readFile(join(dirname(path), given), 'utf8')) : given
  if (!isObject(value) || !isObject(value.agent_config)) return stringify(value)
  const { agent_config: config } = value
  const mcps = (Array.isArray(config.mcps) ? config.mcps : []).map((server) => {
    const port = isObject(server) ? ports.get(String(server.id)) : undefined
    return isObject(server) && port !== undefined ? { ...server, hostname: 'http://127.0.0.1', port } : server
  })
  const generation = { provider: 'replay', script: { steps: [{ answer: 'not used' }] } }
  return stringify({
    ...value,
    agent_config: {
      ...config,
      runtime: { ...(isObject(config.runtime) ? config.runtime : {}), ...scenario.runtime },
      llms: { generation },
      mcps,
      context: { ...(isObject(config.context) ? config.context : {}), ...scenario.context },
    },
  })
}

async function play(scenario: Scenario, manifest: string, models: ScriptedModels, ask: Client): Promise<string[]> {
  const applied = await ask('POST', '/manifests', { manifest, secrets: scenario.secrets })
  if (applied.status !== 200) return [`the manifest: ${errorIn(applied.body)}`]
  const agent = (applied.body.agent as { id: string }).id
  const { body: session } = await ask('POST', '/sessions', { agent_id: agent, ...scenario.session })
  const failures: string[] = []
  models.interrupt = (meanwhile) => interrupt(meanwhile, String(session.id), ask)
  for (const [index, turn] of scenario.turns.entries()) {
    const before = models.calls
    const events = await take(turn, String(session.id), ask)
    const found = await compare(turn, events, { id: String(session.id), calls: models.calls - before }, ask)
    failures.push(...found.map((failure) => `turn ${index + 1}: ${failure}`))
  }
  return failures
}

/** Sends a message during a turn. After a text, only once the session says that the agent types. */
async function interrupt({ customer, after_text }: Meanwhile, id: string, ask: Client): Promise<void> {
  for (let isTyping = after_text === undefined; !isTyping; ) {
    const { body } = await ask('GET', `/sessions/${id}/events?kinds=status&limit=1000`)
    const last = (body.data as SessionEvent[]).findLast(({ status }) => status !== undefined)
    isTyping = last?.status === 'typing'
    if (!isTyping) await ask('GET', `/sessions/${id}/events?min_offset=${(last?.offset ?? 0) + 1}&wait_for_data=10`)
  }
  await ask('POST', `/sessions/${id}/messages`, { message: customer })
}

const errorIn = (body: Record<string, unknown>): string => String((body.error as { message?: string })?.message)

/** Sends what the turn says, and waits until the session is ready. */
async function take(turn: Turn, id: string, ask: Client): Promise<SessionEvent[]> {
  if (turn.metadata) await ask('PATCH', `/sessions/${id}`, { metadata: turn.metadata })
  const sent = turn.inject
    ? await ask('POST', `/sessions/${id}/tool_events`, turn.inject)
    : await ask('POST', `/sessions/${id}/messages`, { message: turn.customer })
  if (sent.status >= 300) throw new Error(errorIn(sent.body))
  const from = Number(sent.body.offset)
  const read = async () =>
    (await ask('GET', `/sessions/${id}/events?min_offset=${from}&limit=1000`)).body.data as SessionEvent[]
  for (;;) {
    // Before the status: a turn that ends in between has events that are not in the list yet.
    const events = await read()
    const { body } = await ask('GET', `/sessions/${id}`)
    if (body.status === 'ready') return read()
    const next = Number(events.at(-1)?.offset ?? from) + 1
    await ask('GET', `/sessions/${id}/events?min_offset=${next}&wait_for_data=10`)
  }
}

async function compare(
  turn: Turn,
  events: readonly SessionEvent[],
  { id, calls }: { id: string; calls: number },
  ask: Client,
): Promise<string[]> {
  const failures: string[] = []
  const done = events.filter(({ source, kind }) => source === 'agent' && kind !== 'status')
  for (const { error } of events) if (error) failures.push(`the turn failed: ${error.message}`)
  if (turn.expect) {
    for (const [index, expected] of turn.expect.entries()) {
      const event = done[index]
      if (!event || !fits(event, expected)) {
        failures.push(`expected ${JSON.stringify(expected)}, but ${event ? `got ${shown(event)}` : 'nothing followed'}`)
      }
    }
    for (const event of done.slice(turn.expect.length)) failures.push(`did not expect ${shown(event)}`)
  }
  const same = (what: string, expected: unknown, actual: unknown) => {
    if (expected === undefined || isDeepStrictEqual(expected, actual)) return
    failures.push(`expected ${what} ${JSON.stringify(expected)}, but got ${JSON.stringify(actual)}`)
  }
  same('model_calls', turn.model_calls, calls)
  same(
    'statuses',
    turn.statuses,
    events.flatMap(({ status }) => status ?? []),
  )
  const { body: session } = await ask('GET', `/sessions/${id}`)
  const routines = session.routines as { routine_id: string; node_id: string; status: string }[]
  same(
    'nodes',
    turn.nodes,
    routines.filter(({ status }) => status === 'active').map((one) => `${one.routine_id}/${one.node_id}`),
  )
  same('step_outputs', turn.step_outputs, (session.metadata as { step_outputs?: unknown }).step_outputs ?? {})
  if (turn.policies) same('policies', turn.policies, await policiesOf(events, ask))
  return failures
}

/** The policies that applied in the last step of the turn. */
async function policiesOf(events: readonly SessionEvent[], ask: Client): Promise<string[]> {
  const turn = events.findLast(({ generation_id }) => generation_id !== null)?.generation_id
  const { body } = await ask('GET', `/generations/${turn}`)
  const steps = (body.step_list ?? []) as { guide: { matches: { id: string; applies: boolean }[] } | null }[]
  const matches = steps.at(-1)?.guide?.matches ?? []
  return matches
    .filter(({ id, applies }) => applies && id.startsWith('policy:'))
    .map(({ id }) => id.slice('policy:'.length))
}

function fits(event: SessionEvent, { message, tool, ...rest }: Expected): boolean {
  if (tool === undefined) {
    return typeof message === 'string'
      ? event.message === message
      : (event.message ?? '').includes(message?.contains ?? '')
  }
  const given = Object.entries(rest).filter(([, value]) => value !== undefined)
  return event.tool_id === tool && given.every(([field, value]) => isDeepStrictEqual(value, event[field as 'result']))
}

const shown = ({ message, tool_id, arguments: args, result, is_error }: SessionEvent): string =>
  JSON.stringify(message === undefined ? { tool: tool_id, arguments: args, result, is_error } : { message })
