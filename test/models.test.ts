import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { ModelAnswer, ModelDelta, ModelRequest, Models } from '../src/agents/models/model.ts'
import { createModels } from '../src/agents/models/models.ts'
import { type ReplayServer, type ReplayServerOptions, startReplayServer } from '../src/agents/models/replay-server.ts'
import { Outbound } from '../src/http/outbound.ts'
import type { ProviderType } from '../src/model/ai-provider.ts'
import type { Message } from '../src/model/message.ts'
import type { ReplayScript } from '../src/model/replay-script.ts'
import type { AiProviderRecord } from '../src/store/ai-providers.ts'
import { closedAddress } from './clients.ts'
import { startService } from './kit.ts'

const key = 'sk-the-right-key-of-a-test'
type Script = Omit<ReplayScript, 'steps'> & { steps: unknown[] }

/** All types of AI providers. They behave the same. */
const types = ['openai-compatible', 'openai', 'anthropic', 'google', 'replay'] as const
const overHttp = types.filter((type) => type !== 'replay')

const providerOf = (type: ProviderType, fields: Partial<AiProviderRecord> = {}): AiProviderRecord => ({
  id: 'aip_test',
  project_id: 'proj_test',
  name: 'tested',
  type,
  base_url: null,
  default_model: null,
  prices: null,
  record: false,
  timeout_seconds: 10,
  max_retries: 3,
  api_key: type === 'replay' ? null : key,
  api_key_hint: null,
  headers: null,
  header_names: null,
  script: null,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  ...fields,
})

interface Setting extends AsyncDisposable {
  readonly models: Models
  readonly provider: AiProviderRecord
  /** The requests that the provider received over HTTP. */
  readonly requests: ReplayServer['requests']
  ask(messages: Message[], request?: Partial<ModelRequest>): Promise<ModelAnswer>
}

/** A provider of this type that plays a script, and the models that call it. */
async function setUp(
  type: ProviderType,
  script: Script,
  fields: Partial<AiProviderRecord> = {},
  options: ReplayServerOptions = {},
): Promise<Setting> {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 1e6 })
  const server = type === 'replay' ? undefined : await startReplayServer(script, options)
  const models = createModels({
    outbound,
    vault: { open: (sealed) => sealed },
    recordings: { addRecorded: async () => {} },
    firstPauseMs: 5,
  })
  const base_url = server ? `${server.url}/${type === 'google' ? 'v1beta' : 'v1'}` : null
  const provider = providerOf(type, { base_url, script: server ? null : JSON.stringify(script), ...fields })
  return {
    models,
    provider,
    requests: server?.requests ?? [],
    ask: (messages, request) => models.generate(provider, requestOf(messages, request)),
    async [Symbol.asyncDispose]() {
      await models.close()
      await outbound.close()
      await server?.close()
    },
  }
}

const requestOf = (messages: Message[], request: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'a-model',
  messages,
  tools: [],
  toolChoice: 'auto',
  temperature: null,
  signal: new AbortController().signal,
  ...request,
})

const user = (content: string): Message => ({ role: 'user', content })
const weather = {
  name: 'get_weather',
  description: 'The weather in a city',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

describe.each(types)('a model of %s', (type) => {
  test('streams its text', async () => {
    await using setting = await setUp(type, {
      model: 'a-model-of-may',
      steps: [{ answer: { text: ['Hel', 'lo, ', 'you'], usage: { input_tokens: 12, output_tokens: 3 } } }],
    })
    const deltas: ModelDelta[] = []

    const answer = await setting.ask([{ role: 'system', content: 'Be kind' }, user('Hi')], {
      temperature: 0.5,
      onDelta: (delta) => deltas.push(delta),
    })

    expect(answer).toMatchObject({
      text: 'Hello, you',
      reasoning: null,
      tool_calls: [],
      finish_reason: 'stop',
      usage: { input_tokens: 12, output_tokens: 3 },
      // Google's package does not return the model name of the response.
      model: type === 'google' ? 'a-model' : 'a-model-of-may',
    })
    expect(deltas).toEqual(['Hel', 'lo, ', 'you'].map((text) => ({ type: 'text', text })))
  })

  test('calls several tools at once, and gets their outputs and errors', async () => {
    await using setting = await setUp(type, {
      steps: [
        {
          when: { last_tool: null, tools: ['get_weather'] },
          answer: {
            text: 'Looking.',
            tool_calls: [
              { name: 'get_weather', args: { city: 'Recife' } },
              { name: 'get_weather', args: { city: 'Natal "N"' } },
            ],
          },
        },
        {
          when: { last_tool: { name: 'get_weather', output: 'no such city', is_error: true }, step: 2 },
          answer: 'Recife has {{last_user}}, Natal: {{last_tool_output.reason}}',
        },
      ],
    })
    const deltas: ModelDelta[] = []

    const first = await setting.ask([user('sun?')], { tools: [weather], onDelta: (delta) => deltas.push(delta) })
    const [recife, natal] = first.tool_calls
    const second = await setting.ask(
      [
        user('sun?'),
        {
          role: 'assistant',
          content: first.text,
          tool_calls: first.tool_calls,
          ...(first.metadata && { metadata: first.metadata }),
        },
        {
          role: 'tool',
          tool_call_id: recife?.id ?? '',
          tool_name: 'get_weather',
          output: { degrees: 31 },
          is_error: false,
        },
        {
          role: 'tool',
          tool_call_id: natal?.id ?? '',
          tool_name: 'get_weather',
          output: { reason: 'no such city' },
          is_error: true,
        },
      ],
      { tools: [weather] },
    )

    expect(first).toMatchObject({ text: 'Looking.', finish_reason: 'tool_calls' })
    expect(first.tool_calls.map(({ name, args }) => ({ name, args: JSON.parse(args) }))).toEqual([
      { name: 'get_weather', args: { city: 'Recife' } },
      { name: 'get_weather', args: { city: 'Natal "N"' } },
    ])
    expect(new Set(first.tool_calls.map(({ id }) => id)).size).toBe(2)
    const told = (id: string | undefined) =>
      deltas.flatMap((delta) => (delta.type === 'tool_args' && delta.id === id ? [delta.text] : [])).join('')
    expect(deltas.filter((delta) => delta.type === 'tool_call')).toHaveLength(2)
    expect(JSON.parse(told(natal?.id))).toEqual({ city: 'Natal "N"' })
    expect(second.text).toBe('Recife has sun?, Natal: no such city')
  })

  test('receives images', async () => {
    await using setting = await setUp(type, { steps: [{ when: { last_user: 'What is it?' }, answer: 'A cat' }] })
    const data = Buffer.from('not really a picture').toString('base64')

    const { text } = await setting.ask([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image', media_type: 'image/png', data },
        ],
      },
    ])

    expect(text).toBe('A cat')
    if (type !== 'replay') expect(JSON.stringify(setting.requests[0]?.body)).toContain(data)
  })

  test.each([
    [{ status: 401, message: 'no' }, 'MODEL_KEY_REFUSED', 502],
    [{ status: 403, message: 'no' }, 'MODEL_KEY_REFUSED', 502],
    [{ status: 404, message: 'The model a-model does not exist' }, 'MODEL_NOT_FOUND', 422],
    [{ status: 400, message: 'prompt is too long: 208310 tokens > 200000 maximum' }, 'MODEL_CONTEXT_TOO_LONG', 422],
    [
      {
        status: 400,
        message: 'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).',
      },
      'MODEL_CONTEXT_TOO_LONG',
      422,
    ],
    [{ status: 400, code: 'context_length_exceeded', message: 'x' }, 'MODEL_CONTEXT_TOO_LONG', 422],
    [{ status: 400, code: 'content_filter', message: 'x' }, 'MODEL_REFUSED', 422],
    [{ status: 400, message: 'temperature must be at most 2' }, 'MODEL_REQUEST_REFUSED', 502],
    [{ status: 402, message: 'insufficient credits' }, 'MODEL_RATE_LIMITED', 429],
    [{ status: 429, code: 'insufficient_quota', message: 'x' }, 'MODEL_RATE_LIMITED', 429],
  ])('maps the error %j to %s', async (error, code, status) => {
    await using setting = await setUp(type, { steps: [{ error }] })

    await expect(setting.ask([user('Hi')])).rejects.toMatchObject({ code, status })
    expect(setting.requests.length).toBeLessThanOrEqual(1)
  })

  test.each([
    [429, 'MODEL_RATE_LIMITED'],
    [529, 'MODEL_RATE_LIMITED'],
    [500, 'MODEL_UNAVAILABLE'],
    [503, 'MODEL_UNAVAILABLE'],
  ])('is retried after status %i, up to max_retries', async (status, code) => {
    const script = (times: number) => ({ steps: [{ error: { status, times }, answer: 'at last' }] })
    await using patient = await setUp(type, script(2), { max_retries: 2 })
    await using tired = await setUp(type, script(3), { max_retries: 2 })

    const { text } = await patient.ask([user('Hi')])

    expect(text).toBe('at last')
    await expect(tired.ask([user('Hi')])).rejects.toMatchObject({ code, details: { attempts: 3 } })
    if (type !== 'replay') expect(tired.requests).toHaveLength(3)
  })

  test('is retried after the delay in Retry-After, unless that is too long', async () => {
    await using soon = await setUp(type, {
      steps: [{ error: { status: 429, retry_after: 0.3, times: 1 }, answer: 'x' }],
    })
    await using late = await setUp(type, {
      steps: [{ error: { status: 429, retry_after: 3600, times: 1 }, answer: 'x' }],
    })
    const started = performance.now()

    await soon.ask([user('Hi')])

    expect(performance.now() - started).toBeGreaterThan(280)
    await expect(late.ask([user('Hi')])).rejects.toMatchObject({
      code: 'MODEL_RATE_LIMITED',
      details: { retry_after_seconds: 3600, attempts: 1 },
    })
  })

  test('is retried when the connection breaks, after a reset of the text streamed so far', async () => {
    await using setting = await setUp(
      type,
      {
        steps: [{ hang_up: true, answer: { text: ['Half of', ' an'] } }],
      },
      { max_retries: 1 },
    )
    const deltas: ModelDelta[] = []

    const asked = setting.ask([user('Hi')], { onDelta: (delta) => deltas.push(delta) })

    await expect(asked).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE', details: { attempts: 2 } })
    expect(deltas.filter((delta) => delta.type === 'reset')).toHaveLength(1)
  })

  test('fails with a timeout if it stops sending', async () => {
    await using setting = await setUp(type, { steps: [{ stall: true, answer: 'Well' }] }, { timeout_seconds: 0.2 })

    await expect(setting.ask([user('Hi')])).rejects.toMatchObject({ code: 'MODEL_TIMEOUT', status: 504 })
  })

  test('does not time out while it keeps sending', async () => {
    const text = Array.from({ length: 6 }, (_, at) => ({ text: `${at}`, delay_ms: 100 }))
    await using setting = await setUp(type, { steps: [{ answer: { text } }] }, { timeout_seconds: 0.3 })

    expect((await setting.ask([user('Hi')])).text).toBe('012345')
  })

  test('is not called any more once the caller has aborted', async () => {
    await using setting = await setUp(type, { steps: [{ stall: true, answer: 'Well' }] })
    const leaving = new AbortController()
    const reason = new Error('gone')

    const asked = setting.ask([user('Hi')], { signal: leaving.signal, onDelta: () => leaving.abort(reason) })

    await expect(asked).rejects.toBe(reason)
    await expect(setting.ask([user('Hi')], { signal: leaving.signal })).rejects.toBe(reason)
  })

  test('is not called any more once the platform shuts down', async () => {
    await using setting = await setUp(type, { steps: [{ stall: true, answer: 'Well' }] })

    const asked = setting.ask([user('Hi')], { onDelta: () => void setting.models.close() })

    await expect(asked).rejects.toMatchObject({ code: 'SHUTTING_DOWN' })
  })

  test('reports a refusal by its content filter as an error', async () => {
    await using setting = await setUp(type, { steps: [{ answer: { finish_reason: 'content_filter' } }] })

    await expect(setting.ask([user('Hi')])).rejects.toMatchObject({ code: 'MODEL_REFUSED' })
  })

  test('reports finish_reason "length" if the output was cut off', async () => {
    await using setting = await setUp(type, { steps: [{ answer: { text: 'And then', finish_reason: 'length' } }] })

    expect(await setting.ask([user('Hi')])).toMatchObject({ text: 'And then', finish_reason: 'length' })
  })

  test('reports cached input tokens', async () => {
    const usage = { input_tokens: 100, output_tokens: 10, cached_input_tokens: 80 }
    await using setting = await setUp(type, { steps: [{ answer: { text: 'x', usage } }] })

    expect((await setting.ask([user('Hi')])).usage).toEqual(usage)
  })
})

describe.each(['openai-compatible', 'anthropic', 'google', 'replay'] as const)('the reasoning of %s', (type) => {
  test('is separate from its text, and is sent back in its format', async () => {
    await using setting = await setUp(type, {
      steps: [
        { answer: { reasoning: 'Hm, hm.', tool_calls: [{ name: 'get_weather', args: { city: 'Recife' } }] } },
        { answer: 'Sunny' },
      ],
    })

    const first = await setting.ask([user('Hi')], { tools: [weather] })
    const second = await setting.ask(
      [
        user('Hi'),
        {
          role: 'assistant',
          content: first.text,
          ...(first.reasoning && { reasoning: first.reasoning }),
          tool_calls: first.tool_calls,
          ...(first.metadata && { metadata: first.metadata }),
        },
        {
          role: 'tool',
          tool_call_id: first.tool_calls[0]?.id ?? '',
          tool_name: 'get_weather',
          output: 'sun',
          is_error: false,
        },
      ],
      { tools: [weather] },
    )

    expect(first.reasoning).toBe('Hm, hm.')
    expect(second.text).toBe('Sunny')
    // Anthropic's API, and the replay server, refuse reasoning without its signature.
    if (type === 'anthropic') expect(JSON.stringify(setting.requests[1]?.body)).toContain('"signature":')
    if (type === 'google') expect(JSON.stringify(setting.requests[1]?.body)).toContain('"thoughtSignature":')
  })
})

describe.each(overHttp)('a request to %s', (type) => {
  test('has the key and the headers of the AI provider', async () => {
    const fields = { headers: JSON.stringify({ 'x-team': 'blue' }) }
    await using right = await setUp(type, { steps: [{ answer: 'x' }] }, fields, { key })
    await using wrong = await setUp(
      type,
      { steps: [{ answer: 'x' }] },
      { api_key: 'sk-another-key-altogether' },
      { key },
    )

    await right.ask([user('Hi')])
    const refused = await wrong.ask([user('Hi')]).catch((error: unknown) => error)

    expect(right.requests[0]?.headers['x-team']).toBe('blue')
    expect(refused).toMatchObject({ code: 'MODEL_KEY_REFUSED', details: { has_key: true } })
    expect(JSON.stringify(refused)).not.toContain('another-key')
  })

  test('has no key if none is configured, even if the environment has one', async () => {
    const names = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY']
    const before = names.map((name) => process.env[name])
    for (const name of names) process.env[name] = 'of the operator'
    await using setting = await setUp(type, { steps: [{ answer: 'x' }] }, { api_key: null })

    await setting.ask([user('Hi')])

    names.forEach((name, at) => {
      if (before[at] === undefined) delete process.env[name]
      else process.env[name] = before[at]
    })
    const { authorization, 'x-api-key': anthropic, 'x-goog-api-key': google } = setting.requests[0]?.headers ?? {}
    expect([authorization, anthropic, google]).toEqual([undefined, undefined, undefined])
  })

  test('does not follow redirects, which could leak the key', async () => {
    await using elsewhere = await startService()
    await using redirects = await startService(() => ({ status: 307, headers: { location: elsewhere.url } }))
    await using setting = await setUp(type, { steps: [{ answer: 'x' }] }, { base_url: redirects.url })

    await expect(setting.ask([user('Hi')])).rejects.toMatchObject({ code: 'MODEL_REQUEST_REFUSED' })
    expect(elsewhere.received).toEqual([])
  })

  test('is refused for blocked addresses', async () => {
    await using setting = await setUp(type, { steps: [{ answer: 'x' }] }, { base_url: 'http://169.254.169.254/v1' })

    await expect(setting.ask([user('Hi')])).rejects.toMatchObject({ code: 'EGRESS_BLOCKED' })
  })

  test('to an unreachable address is retried, then fails with the number of attempts', async () => {
    await using setting = await setUp(
      type,
      { steps: [{ answer: 'x' }] },
      { base_url: await closedAddress(), max_retries: 1 },
    )

    await expect(setting.ask([user('Hi')])).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      details: { reason: 'connection refused', attempts: 2 },
    })
  })

  test.each([
    ['a page', 'text/html', '<html>Welcome</html>'],
    ['JSON', 'application/json', '{"hello": "you"}'],
    ['events of another kind', 'text/event-stream', 'data: {"hello": "you"}\n\n'],
    ['events that are not JSON', 'text/event-stream', 'data: hello\n\n'],
  ])('that gets %s in response fails with a clear error', async (_, contentType, body) => {
    await using service = await startService(() => ({ headers: { 'content-type': contentType }, body }))
    await using setting = await setUp(type, { steps: [{ answer: 'x' }] }, { base_url: service.url, max_retries: 0 })

    const error = await setting.ask([user('Hi')]).catch((caught: unknown) => caught)

    expect(error).toMatchObject({ status: 502 })
    expect(['MODEL_ANSWER_INVALID', 'MODEL_UNAVAILABLE']).toContain((error as { code: string }).code)
  })

  test('can require a tool, forbid tools, or name one', async () => {
    await using setting = await setUp(type, { steps: [{ answer: 'x' }] })

    for (const toolChoice of ['auto', 'required', 'none', { tool_name: 'get_weather' }] as const) {
      await setting.ask([user('Hi')], { tools: [weather], toolChoice })
    }

    const sent = setting.requests.map(({ body }) => {
      const { tool_choice, toolConfig } = body as { tool_choice?: unknown; toolConfig?: unknown }
      return JSON.stringify(tool_choice ?? toolConfig ?? null)
    })
    expect(new Set(sent).size).toBe(4)
    expect(sent[3]).toContain('get_weather')
  })
})

describe.each(['openai-compatible', 'openai', 'anthropic', 'replay'] as const)('arguments from %s', (type) => {
  test('that are not valid JSON are returned unchanged, and the conversation can continue', async () => {
    await using setting = await setUp(type, {
      steps: [{ answer: { tool_calls: [{ name: 'get_weather', args: '{"city": Recife' }] } }, { answer: 'Sorry' }],
    })

    const { tool_calls } = await setting.ask([user('Hi')], { tools: [weather] })
    const { text } = await setting.ask(
      [
        user('Hi'),
        { role: 'assistant', content: null, tool_calls },
        {
          role: 'tool',
          tool_call_id: tool_calls[0]?.id ?? '',
          tool_name: 'get_weather',
          output: 'not JSON',
          is_error: true,
        },
      ],
      { tools: [weather] },
    )

    expect(tool_calls).toMatchObject([{ name: 'get_weather', args: '{"city": Recife' }])
    expect(text).toBe('Sorry')
  })
})

describe.each(overHttp)('a conversation with %s', (type) => {
  test('contains the error of a tool once', async () => {
    await using setting = await setUp(type, { steps: [{ when: { step: 2 }, answer: 'Sorry' }] })
    const call = { id: 'call_1', name: 'get_weather', args: '{"city":"Recife"}' }
    const error = { code: 'TOOL_UNREACHABLE', message: 'It is away.', details: {} }

    await setting.ask(
      [
        user('Hi'),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', tool_name: 'get_weather', output: { error }, is_error: true },
      ],
      { tools: [weather] },
    )

    const sent = JSON.stringify(setting.requests[0]?.body).replaceAll('\\', '')
    expect(sent).toContain('TOOL_UNREACHABLE')
    expect(sent.match(/"error":/g)).toHaveLength(1)
  })

  test('works if the provider ignores the request to stream', async () => {
    const script = {
      model: 'a-model-of-may',
      steps: [
        {
          when: { last_tool: null },
          answer: {
            text: 'Looking.',
            tool_calls: [{ name: 'get_weather', args: { city: 'Recife' } }],
            usage: { input_tokens: 12, output_tokens: 3 },
          },
        },
        { when: { last_tool: { output: '31' } }, answer: 'It is hot' },
      ],
    }
    await using plain = await startReplayServer(script)
    // Forwards every request with streaming turned off.
    await using proxy = await startService(async ({ url, body, headers }) => {
      const whole = url.replace(':streamGenerateContent?alt=sse', ':generateContent')
      const answer = await fetch(`${plain.url}${whole}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'anthropic-version': String(headers['anthropic-version'] ?? ''),
        },
        body: JSON.stringify({ ...JSON.parse(body), stream: false }),
      })
      return {
        status: answer.status,
        body: await answer.text(),
        headers: { 'content-type': 'application/json; charset=utf-8' },
      }
    })
    const base_url = `${proxy.url}/${type === 'google' ? 'v1beta' : 'v1'}`
    await using setting = await setUp(type, { steps: [{ answer: 'not asked' }] }, { base_url })
    const deltas: ModelDelta[] = []

    const first = await setting.ask([user('sun?')], { tools: [weather], onDelta: (delta) => deltas.push(delta) })
    const second = await setting.ask(
      [
        user('sun?'),
        { role: 'assistant', content: first.text, tool_calls: first.tool_calls },
        {
          role: 'tool',
          tool_call_id: first.tool_calls[0]?.id ?? '',
          tool_name: 'get_weather',
          output: { degrees: 31 },
          is_error: false,
        },
      ],
      { tools: [weather] },
    )

    expect(first).toMatchObject({
      text: 'Looking.',
      finish_reason: 'tool_calls',
      usage: { input_tokens: 12, output_tokens: 3 },
    })
    expect(first.tool_calls).toMatchObject([{ name: 'get_weather' }])
    expect(JSON.parse(first.tool_calls[0]?.args ?? '')).toEqual({ city: 'Recife' })
    expect(deltas).toContainEqual({ type: 'text', text: 'Looking.' })
    expect(deltas.map((delta) => delta.type)).toContain('tool_call')
    expect(second).toMatchObject({ text: 'It is hot', finish_reason: 'stop' })
    expect(proxy.received).toHaveLength(2)
  })

  test('continues after an empty response', async () => {
    await using setting = await setUp(type, { steps: [{ when: { last_user: 'Bye' }, answer: 'Bye!' }] })

    const { text } = await setting.ask([user('Hi'), { role: 'assistant', content: '' }, user('Bye')])

    expect(text).toBe('Bye!')
    expect(JSON.stringify(setting.requests[0]?.body)).not.toMatch(/"(text|content)":""/)
  })

  test('lets headers of the AI provider override the defaults', async () => {
    const fields = { api_key: null, headers: JSON.stringify({ AUTHORIZATION: 'Basic abc', 'X-Api-Key': 'mine' }) }
    await using setting = await setUp(type, { steps: [{ answer: 'x' }] }, fields)

    await setting.ask([user('Hi')])

    expect(setting.requests[0]?.headers).toMatchObject({ authorization: 'Basic abc', 'x-api-key': 'mine' })
  })
})

describe.each(['anthropic', 'google'] as const)('system messages in the middle of a conversation with %s', (type) => {
  test('are moved to its beginning, the only place where the API accepts them', async () => {
    await using setting = await setUp(type, { steps: [{ when: { system: { matches: '^A\\n+B$' } }, answer: 'x' }] })

    const { text } = await setting.ask([
      { role: 'system', content: 'A' },
      user('Hi'),
      { role: 'assistant', content: 'Hello' },
      { role: 'system', content: 'B' },
      user('Bye'),
    ])

    expect(text).toBe('x')
  })
})

test('an error in the middle of a stream is handled like one at its beginning', async () => {
  const events = [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Well' } },
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  ]
  await using service = await startService(() => ({
    headers: { 'content-type': 'text/event-stream' },
    body: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  }))
  await using compatible = await startService(() => ({
    headers: { 'content-type': 'text/event-stream' },
    body: 'data: {"error":{"message":"The server had an error","type":"server_error","code":null}}\n\n',
  }))
  const script = { steps: [{ answer: 'x' }] }
  await using anthropic = await setUp('anthropic', script, { base_url: service.url, max_retries: 1 })
  await using other = await setUp('openai-compatible', script, { base_url: compatible.url, max_retries: 1 })

  await expect(anthropic.ask([user('Hi')])).rejects.toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    details: { attempts: 2 },
  })
  await expect(other.ask([user('Hi')])).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE', details: { attempts: 2 } })
})

test.each(overHttp)('two tool calls of %s with the same id get different ids', async (type) => {
  const call = { id: 'same', name: 'get_weather', args: { city: 'Recife' } }
  await using setting = await setUp(type, { steps: [{ answer: { tool_calls: [call, call] } }] })

  const { tool_calls } = await setting.ask([user('Hi')], { tools: [weather] })

  expect(new Set(tool_calls.map(({ id }) => id)).size).toBe(2)
})

test('an endless response of a model is aborted', async () => {
  const line = `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'x'.repeat(100_000) } }] })}\n\n`
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const write = () => {
      while (!response.destroyed && response.write(line));
      if (!response.destroyed) response.once('drain', write)
    }
    write()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await using setting = await setUp('openai-compatible', { steps: [{ answer: 'x' }] }, { base_url })

  await expect(setting.ask([user('Hi')])).rejects.toMatchObject({ code: 'MODEL_ANSWER_INVALID' })

  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

test('an error message of a provider is shortened and redacted', async () => {
  const message = `Bad: ${key} and sk-proj-abcdefghijklmnop and Bearer abcdefgh ${'x'.repeat(5000)}`
  await using setting = await setUp('openai-compatible', { steps: [{ error: { status: 400, message } }] })

  const error = await setting.ask([user('Hi')]).catch((caught: unknown) => caught as Error)

  expect(error).toMatchObject({ code: 'MODEL_REQUEST_REFUSED' })
  const shown = JSON.stringify(error) + (error as Error).message
  expect(shown).not.toContain(key)
  expect(shown).not.toContain('abcdefgh')
  expect(shown.length).toBeLessThan(2000)
})

test('the cost of a response follows from the prices of the AI provider', async () => {
  await using setting = await setUp('replay', { steps: [{ answer: 'x' }] })
  const usage = { input_tokens: 1_000_000, output_tokens: 500_000, cached_input_tokens: 400_000 }
  const prices = { 'a-model': { input: 3, output: 10, cached_input: 0.5 }, '*': { input: 1, output: 2 } }

  const cost = (model: string, given = prices as AiProviderRecord['prices']) =>
    setting.models.costOf({ ...setting.provider, prices: given }, model, usage)

  expect(cost('a-model')).toBeCloseTo(0.6 * 3 + 0.4 * 0.5 + 5)
  expect(cost('another')).toBeCloseTo(2)
  expect(cost('another', { 'a-model': { input: 1, output: 1 } })).toBeNull()
  expect(cost('another', null)).toBeNull()
})
