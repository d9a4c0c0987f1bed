import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'
import { type LegacyTool, startLegacyUpstream } from './legacy-upstream.ts'
import { startUpstream, type UpstreamTool } from './upstream.ts'

const form = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
const questions = {
  person: { method: 'elicitation/create', params: { message: 'Who are you?', requestedSchema: form } },
  model: {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Hm?' } }], maxTokens: 9 },
  },
  roots: { method: 'roots/list', params: {} },
}
type About = keyof typeof questions

/** A 2026 server with a tool that sends client requests and returns the responses. */
const modernTools: UpstreamTool[] = [
  {
    name: 'ask',
    inputSchema: { type: 'object', properties: { about: { type: 'string' } } },
    run({ about }, _signal, { inputResponses, requestState, envelope, log }) {
      const can = (envelope as Record<string, object> | undefined)?.['io.modelcontextprotocol/clientCapabilities'] ?? {}
      if (about === 'abilities') return { content: [{ type: 'text', text: JSON.stringify(can) }] }
      if (about === 'log') return logAll(log)
      if (inputResponses) {
        const text = JSON.stringify({ ...inputResponses, state: requestState() })
        return { content: [{ type: 'text', text }] }
      }
      const asked = questions[about as About]
      return { resultType: 'input_required', inputRequests: { answer: asked }, requestState: 'of the server' }
    },
  },
]

async function logAll(log: (level: 'debug' | 'info' | 'error', data: string) => Promise<void>) {
  for (const level of ['debug', 'info', 'error'] as const) await log(level, `it is ${level}`)
  return { content: [{ type: 'text', text: 'logged' }] }
}

const askOnStream: LegacyTool = {
  name: 'ask',
  async run({ about }, { ask, log, capabilities }) {
    if (about === 'abilities') return JSON.stringify(capabilities)
    if (about === 'log') return (await logAll(log)) && 'logged'
    const { method, params } = questions[about as About]
    return JSON.stringify({ answer: await ask(method, params) })
  },
}

const upstreams = {
  '2025': () => startLegacyUpstream([askOnStream]),
  '2026': () => startUpstream(modernTools, 'modern'),
}
const modes = { '2025': 'legacy', '2026': 'auto' } as const

const can = { elicitation: { form: {} }, sampling: {}, roots: {} }

/** A client that answers elicitation, sampling and roots requests with its name. */
async function connect(
  url: string,
  { name = 'Ana', mode = 'legacy', capabilities = can, key = adminKey }: Partial<Person> = {},
) {
  const client = new Client({ name, version: '1' }, { capabilities, versionNegotiation: { mode } })
  if (capabilities.elicitation)
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name } }))
  if (capabilities.sampling)
    client.setRequestHandler('sampling/createMessage', () => ({
      role: 'assistant',
      content: { type: 'text', text: `the model of ${name}` },
      model: 'm',
    }))
  if (capabilities.roots) client.setRequestHandler('roots/list', () => ({ roots: [{ uri: `file:///${name}` }] }))
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return {
    client,
    async ask(about: string, tool = 'ask') {
      const { content } = await client.callTool({ name: tool, arguments: { about } })
      return (content as { text: string }[])[0]?.text ?? ''
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

interface Person {
  readonly name: string
  readonly mode: 'legacy' | 'auto'
  readonly capabilities: Partial<typeof can>
  readonly key: string
}

async function startServer(upstream: { readonly url: string }) {
  const platform = await startListening()
  await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
  await platform.post('/servers', { slug: 's', tool_names: 'original' })
  await platform.post('/servers', { slug: 'agent', agent_mode: true })
  return Object.assign(platform, { endpoint: `${platform.url}/mcp/s` })
}

/** A barrier: resolves once it has been called this many times. */
function meeting(size: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let count = 0
  return () => {
    if (++count === size) resolve()
    return promise
  }
}

describe.each(['2025', '2026'] as const)('a client of MCP %s', (caller) => {
  const mode = modes[caller]

  describe.each(['2025', '2026'] as const)('that calls a server of MCP %s', (behind) => {
    test('receives the requests of the server, and its responses are sent back', async () => {
      await using upstream = await upstreams[behind]()
      await using platform = await startServer(upstream)
      await using ana = await connect(platform.endpoint, { mode })

      const person = await ana.ask('person')
      const model = await ana.ask('model')
      const roots = await ana.ask('roots')

      expect(JSON.parse(person)).toMatchObject({ answer: { action: 'accept', content: { name: 'Ana' } } })
      expect(JSON.parse(model)).toMatchObject({ answer: { content: { text: 'the model of Ana' } } })
      expect(JSON.parse(roots)).toMatchObject({ answer: { roots: [{ uri: 'file:///Ana' }] } })
      if (behind === '2026') expect(JSON.parse(person).state).toBe('of the server')
    })

    test('receives them in agent mode', async () => {
      await using upstream = await upstreams[behind]()
      await using platform = await startServer(upstream)
      await using ana = await connect(`${platform.url}/mcp/agent`, { mode })

      const plan = {
        application_slug: 'up',
        action_id: 'ask',
        input_payload: { about: 'person' },
        type: 'action',
      }
      const { content } = await ana.client.callTool({ name: 'EXECUTE_ACTION', arguments: plan })

      const { success, data } = JSON.parse((content as { text: string }[])[0]?.text ?? '')
      expect(success).toBe(true)
      expect(data.answer.content).toEqual({ name: 'Ana' })
    })

    test('receives no requests that it does not support, and the server sees its capabilities', async () => {
      await using upstream = await upstreams[behind]()
      await using platform = await startServer(upstream)
      await using plain = await connect(platform.endpoint, { mode, capabilities: {} })
      await using reader = await connect(platform.endpoint, { mode, capabilities: { elicitation: { form: {} } } })

      expect(JSON.parse(await plain.ask('abilities'))).toEqual({})
      expect(JSON.parse(await reader.ask('abilities'))).toEqual({ elicitation: { form: {} } })
      const refused = plain.client.callTool({ name: 'ask', arguments: { about: 'person' } })
      // A 2026 server reports this to the client. With a 2025 server, the tool fails.
      if (behind === '2026' && caller === '2026') await expect(refused).rejects.toMatchObject({ code: -32021 })
      else
        await expect(
          refused.then(
            ({ isError }) => isError,
            () => true,
          ),
        ).resolves.toBe(true)
    })

    test('receives log messages of the server during its call, from the level that it sets', async () => {
      await using upstream = await upstreams[behind]()
      await using platform = await startServer(upstream)
      await using ana = await connect(platform.endpoint, { mode })
      const heard: unknown[] = []
      ana.client.setNotificationHandler('notifications/message', ({ params }) => {
        heard.push(params.data)
      })

      const _meta = caller === '2026' ? { 'io.modelcontextprotocol/logLevel': 'info' } : {}
      if (caller === '2025') await ana.client.setLoggingLevel('info')
      await ana.client.callTool({ name: 'ask', arguments: { about: 'log' }, _meta })

      await expect.poll(() => heard, { timeout: 5000 }).toEqual(['it is info', 'it is error'])
    })
  })

  test('receives only the requests of its own call, while others call the same server', async () => {
    const arrived = meeting(3)
    const together: LegacyTool = {
      name: 'ask',
      async run(_, { ask }) {
        await arrived()
        const { content } = await ask(questions.person.method, questions.person.params)
        return (content as { name: string }).name
      },
    }
    await using upstream = await startLegacyUpstream([together])
    await using platform = await startServer(upstream)
    await using ana = await connect(platform.endpoint, { mode, name: 'Ana' })
    await using ben = await connect(platform.endpoint, { mode, name: 'Ben' })
    await using eva = await connect(platform.endpoint, { mode, name: 'Eva' })

    const answers = await Promise.all([ana, ben, eva].map((person) => person.ask('person')))

    expect(answers).toEqual(['Ana', 'Ben', 'Eva'])
  })
})

test('a client request on the shared stream goes to the only running call, and is refused if there are several', async () => {
  const [arrived, asked] = [meeting(2), meeting(2)]
  const wait: LegacyTool = {
    name: 'ask',
    async run({ about }, { askGenerally }) {
      const { method, params } = questions.person
      if (about === 'alone') return JSON.stringify(await askGenerally(method, params))
      await arrived()
      const answer = await askGenerally(method, params).catch((error: Error) => error.message)
      // Both calls must be running until both have sent their request.
      await asked()
      return JSON.stringify(answer)
    },
  }
  await using upstream = await startLegacyUpstream([wait])
  await using platform = await startServer(upstream)
  await using ana = await connect(platform.endpoint, { name: 'Ana' })
  await using ben = await connect(platform.endpoint, { name: 'Ben' })

  const alone = await ana.ask('alone')
  const both = await Promise.all([ana.ask('together'), ben.ask('together')])

  expect(alone).toContain('Ana')
  for (const text of both) expect(text).toContain('cannot be matched to a call')
})

/** A handwritten 2025 client, which can send requests to any process. */
async function byHand(endpoint: string) {
  const post = (body: object, { to = endpoint, key = adminKey, headers = {} } = {}) =>
    fetch(to, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
  const clientInfo = { name: 'raw', version: '1' }
  const start = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo }
  const hello = await post({ id: 1, method: 'initialize', params: start })
  await hello.text()
  const headers = {
    'mcp-session-id': hello.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': '2025-11-25',
  }
  return {
    /** Makes a call and reads until the client request arrives. */
    async callUntilAsked(to = endpoint) {
      const call = { id: 2, method: 'tools/call', params: { name: 'ask', arguments: { about: 'person' } } }
      const response = await post(call, { to, headers })
      const stream = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      let seen = ''
      const readUntil = async (part: string) => {
        while (!seen.includes(part)) seen += (await stream?.read())?.value ?? ''
        return seen
      }
      const id = /"id":"([^"]+)"/.exec(await readUntil('elicitation/create'))?.[1]
      return { id, result: () => readUntil('"id":2') }
    },
    answer: (id: string | undefined, name: string, where: { to?: string; key?: string } = {}) =>
      post({ id, result: { action: 'accept', content: { name } } }, { ...where, headers }),
  }
}

test('only the caller can respond to a client request, and only once', async () => {
  await using upstream = await startLegacyUpstream([askOnStream])
  await using platform = await startServer(upstream)
  const key = await platform.keyFor([{ effect: 'Allow', action: ['*'], resource: ['*'] }])
  const client = await byHand(platform.endpoint)

  const { id, result } = await client.callUntilAsked()
  const stolen = await client.answer(id, 'Mallory', { key })
  const unknown = await client.answer('another', 'Mallory')
  const own = await client.answer(id, 'Ana')
  const again = await client.answer(id, 'Ana')

  expect([stolen.status, unknown.status, own.status, again.status]).toEqual([400, 400, 202, 400])
  expect(await stolen.json()).toMatchObject({ error: { code: 'ANSWER_NOT_AWAITED' } })
  expect(await result()).toContain('Ana')
  expect(await result()).not.toContain('Mallory')
})

test('a session works with any process, but a response must go to the process that runs the call', async () => {
  await using upstream = await startLegacyUpstream([askOnStream])
  await using first = await startServer(upstream)
  await using second = await startServer(upstream)
  const client = await byHand(first.endpoint)

  const { id, result } = await client.callUntilAsked(second.endpoint)
  const astray = await client.answer(id, 'Ana', { to: first.endpoint })
  const right = await client.answer(id, 'Ana', { to: second.endpoint })

  expect([astray.status, right.status]).toEqual([400, 202])
  expect(await result()).toContain('Ana')
})

test('a waiting 2026 call can be continued only by its caller, and repeats requests without a response', async () => {
  await using upstream = await startLegacyUpstream([askOnStream])
  await using platform = await startServer(upstream)
  const other = await platform.keyFor([{ effect: 'Allow', action: ['*'], resource: ['*'] }])
  const call = async (round: object, key = adminKey) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': can,
    }
    const params = { name: 'ask', arguments: { about: 'person' }, _meta, ...round }
    const response = await fetch(platform.endpoint, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'ask',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    return (await response.json()) as { result?: Record<string, never>; error?: { code: number } }
  }
  const accept = { action: 'accept', content: { name: 'Ana' } }

  const first = await call({})
  const [key = ''] = Object.keys(first.result?.inputRequests ?? {})
  const requestState = first.result?.requestState
  const stolen = await call({ requestState, inputResponses: { [key]: accept } }, other)
  const missing = await call({ requestState, inputResponses: {} })
  const spent = await call({ requestState, inputResponses: { [key]: accept } })
  const done = await call({ requestState: missing.result?.requestState, inputResponses: { [key]: accept } })

  expect(first.result).toMatchObject({ resultType: 'input_required' })
  expect(stolen.error?.code).toBe(-32602)
  expect(missing.result).toMatchObject({ resultType: 'input_required', inputRequests: first.result?.inputRequests })
  expect(spent.error?.code).toBe(-32602)
  expect(JSON.stringify(done.result)).toContain('Ana')
  expect((await platform.get('/calls')).body.total).toBe(1)
})

test('a failing server is reported as down, even if all its callers support client requests', async () => {
  const upstream = await startLegacyUpstream([askOnStream])
  await using platform = await startServer(upstream)
  await using ana = await connect(platform.endpoint)
  const health = async () => {
    const [tool] = (await platform.get('/tools')).body.data
    return (await platform.get(`/tools/${tool.id}/health`)).body
  }

  await ana.ask('person')
  const before = await health()
  await upstream[Symbol.asyncDispose]()
  for (let count = 0; count < 4; count++) await ana.ask('person')

  expect(before).toMatchObject({ state: 'up', failures: 0 })
  expect(await health()).toMatchObject({ state: 'down', era: 'legacy' })
})

test('a pending client request does not block shutdown', async () => {
  await using upstream = await startLegacyUpstream([askOnStream])
  await using platform = await startServer(upstream)
  await using ana = await connect(platform.endpoint)
  const asked = Promise.withResolvers<void>()
  ana.client.setRequestHandler('elicitation/create', () => {
    asked.resolve()
    return new Promise(() => {})
  })

  const call = ana.ask('person').catch((error: Error) => error.message)
  await asked.promise
  platform.platform.drain()

  expect(await call).toContain('shutting down')
})
