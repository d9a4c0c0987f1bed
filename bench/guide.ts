/**
 * Measures what guiding an agent costs per turn: model calls, bytes of input, how many of them the provider has cached (they
 * are the beginning of a prompt of the turn before), processor time and latency. The model answers at once, and everything
 * runs in one process, so processor time includes the client's.
 *
 *     node bench/guide.ts [turns]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { ModelAnswer, ModelRequest, Models } from '../src/agents/models/model.ts'
import { readConfig } from '../src/config.ts'
import { createPlatform } from '../src/main.ts'
import { type Message, textOf } from '../src/model/message.ts'

const turns = Number(process.argv[2] ?? 60)
const key = 'sk_of_the_benchmark'

const textIn = (message: Message): string =>
  'content' in message ? textOf(message.content) : JSON.stringify(message.output)

/** Says that nothing applies, at once, and keeps the prompts. */
class InstantModels implements Models {
  prompts: string[] = []

  async generate(_: unknown, { messages, model, onDelta }: ModelRequest): Promise<ModelAnswer> {
    const prompt = messages.map(textIn).join('\n')
    this.prompts.push(prompt)
    const isQuestion = prompt.includes('[match-policies]')
    const text = isQuestion ? '{"checks":[]}' : prompt.includes('[match-ids]') ? '{"matches":[]}' : 'Certainly.'
    onDelta?.({ type: 'text', text })
    const usage = { input_tokens: 1, output_tokens: 1, cached_input_tokens: null }
    return { text, reasoning: null, tool_calls: [], finish_reason: 'stop', usage, model, metadata: null }
  }

  costOf(): null {
    return null
  }

  async close(): Promise<void> {}
}

const policy = (n: number, fields: object) => ({
  id: `p${n}`,
  action: `Explain rule ${n} of the house, and offer the alternative that the customer is most likely to accept.`,
  ...fields,
})
const worded = (n: number) => ({ condition: `the customer asks about topic ${n} and has not been told about it yet` })
const many = (count: number, from: number, fields: (n: number) => object) =>
  Array.from({ length: count }, (_, index) => policy(from + index, fields(from + index)))

const mixed = {
  policies: [
    ...many(10, 0, () => ({})),
    ...many(20, 10, (n) => ({ when: `session.metadata.topic == ${n}` })),
    ...many(20, 30, (n) => ({ ...worded(n), in_routine: 'other' })),
    ...many(20, 50, (n) => ({ ...worded(n), criticality: 'low' })),
    ...many(30, 70, worded),
  ],
  routines: [
    {
      id: 'other',
      title: 'Other',
      when: 'session.metadata.other',
      entry: 'x',
      nodes: [{ id: 'x', chat_state: 'Talk' }],
    },
  ],
}

const cases: Readonly<Record<string, object>> = {
  'no policies': {},
  '20 plain policies': { policies: many(20, 0, worded) },
  '100 plain policies': { policies: many(100, 0, worded) },
  '100 mixed policies': mixed,
}

/** How many bytes of these prompts are the beginning of one of the earlier ones. */
function cachedBytes(prompts: readonly string[], earlier: readonly string[]): number {
  const common = (a: string, b: string) => {
    let length = 0
    while (length < a.length && a[length] === b[length]) length++
    return length
  }
  return prompts.reduce((sum, prompt) => sum + Math.max(0, ...earlier.map((one) => common(prompt, one))), 0)
}

const data = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
const models = new InstantModels()
const settings = { QM_DATA: data, QM_ADMIN_KEY: key, QM_LOG_LEVEL: 'error', QM_EMBEDDINGS: 'off' }
const platform = await createPlatform(readConfig({}, settings), { models: () => models })

async function ask(method: string, path: string, body?: object) {
  const response = await platform.fetch(`http://bench.test/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return text === '' ? {} : JSON.parse(text)
}

async function turn(session: string, message: string): Promise<void> {
  let { offset } = await ask('POST', `/sessions/${session}/messages`, { message })
  for (;;) {
    const query = `min_offset=${offset + 1}&kinds=status&wait_for_data=30`
    const { data: events = [] } = await ask('GET', `/sessions/${session}/events?${query}`)
    offset = events.at(-1)?.offset ?? offset
    if (events.some(({ status }: { status: string }) => status === 'ready')) return
  }
}

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

try {
  for (const [name, context] of Object.entries(cases)) {
    const generation = { provider: 'replay', script: { steps: [{ answer: 'x' }] } }
    const description = 'You work at the desk of a large hotel, and help guests with everything they ask for. '.repeat(
      4,
    )
    const manifest = stringify({
      id: `bench-${Object.keys(cases).indexOf(name)}`,
      agent_config: { llms: { generation }, context: { description, ...context } },
    })
    const { agent, error } = await ask('POST', '/manifests', { manifest })
    if (error) throw new Error(error.message)
    const { id } = await ask('POST', '/sessions', { agent_id: agent.id })
    const wall: number[] = []
    const processor: number[] = []
    let earlier: string[] = []
    let calls = 0
    let bytes = 0
    let cached = 0
    for (let n = 0; n < turns; n++) {
      models.prompts = []
      const started = performance.now()
      const before = process.cpuUsage()
      await turn(id, `This is message ${n}, in which a guest asks for something in a few more words than needed.`)
      const used = process.cpuUsage(before)
      wall.push(performance.now() - started)
      processor.push((used.user + used.system) / 1000)
      calls = models.prompts.length
      bytes = models.prompts.reduce((sum, prompt) => sum + Buffer.byteLength(prompt), 0)
      cached = cachedBytes(models.prompts, earlier) / bytes
      earlier = models.prompts
    }
    const share = `${Math.round(cached * 100)} % cached`
    const times = `${median(processor).toFixed(1)} ms processor, ${median(wall).toFixed(1)} ms latency`
    console.log(`${name}: ${calls} model calls, ${bytes} bytes of input (${share}), ${times}`)
  }
} finally {
  await platform.close()
  await rm(data, { recursive: true, force: true })
}
