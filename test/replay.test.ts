import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ModelAnswer } from '../src/agents/models/model.ts'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import type { Message } from '../src/model/message.ts'
import { runCli, spawnCli } from './clients.ts'
import { engines, freshStore } from './engines.ts'
import { startPlatform, type TestPlatform } from './kit.ts'

const script = {
  model: 'scripted',
  steps: [
    {
      answer: {
        text: 'Let me look.',
        reasoning: 'Weather?',
        tool_calls: [{ name: 'get_weather', args: { city: 'Recife' } }],
        usage: { input_tokens: 20, output_tokens: 5, cached_input_tokens: 8 },
      },
    },
    { when: { last_tool: 'get_weather' }, answer: 'It has {{last_tool_output.degrees}} degrees.' },
  ],
}

const post = async (url: string, body: unknown, headers: Record<string, string> = {}) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text.startsWith('{') ? JSON.parse(text) : undefined,
  }
}

const weather = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }

test('the replay server responds like OpenAI, complete and streamed', async () => {
  await using server = await startReplayServer(script)
  const question = { model: 'm', messages: [{ role: 'user', content: 'Weather?' }], tools: [weather] }

  const whole = await post(`${server.url}/v1/chat/completions`, question)
  const call = whole.body.choices[0].message.tool_calls[0]
  const next = await post(`${server.url}/v1/chat/completions`, {
    ...question,
    messages: [
      ...question.messages,
      whole.body.choices[0].message,
      { role: 'tool', tool_call_id: call.id, content: '{"degrees":31}' },
    ],
  })
  const stream = await post(`${server.url}/v1/chat/completions`, {
    ...question,
    stream: true,
    stream_options: { include_usage: true },
  })
  const models = await (await fetch(`${server.url}/v1/models`)).json()

  expect(whole.body).toMatchObject({
    object: 'chat.completion',
    model: 'scripted',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: { role: 'assistant', content: 'Let me look.', tool_calls: [{ type: 'function' }] },
      },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25, prompt_tokens_details: { cached_tokens: 8 } },
  })
  expect(JSON.parse(call.function.arguments)).toEqual({ city: 'Recife' })
  expect(next.body.choices[0].message.content).toBe('It has 31 degrees.')
  expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const events = stream.text.trimEnd().split('\n\n')
  expect(events.at(-1)).toBe('data: [DONE]')
  expect(JSON.parse(events.at(-2)?.slice(6) ?? '')).toMatchObject({ choices: [], usage: { total_tokens: 25 } })
  expect(models).toMatchObject({ object: 'list', data: [{ id: 'scripted', object: 'model' }] })
  expect(server.requests.map(({ path }) => path)).toContain('/v1/models')
})

test('the replay server responds like Anthropic, complete and streamed', async () => {
  await using server = await startReplayServer(script)
  const question = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Weather?' }] }
  const url = `${server.url}/v1/messages`
  const headers = { 'anthropic-version': '2023-06-01' }

  const whole = await post(url, question, headers)
  const stream = await post(url, { ...question, stream: true }, headers)
  const unsigned = await post(url, {
    ...question,
    messages: [...question.messages, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }] }],
  })

  expect(whole.body).toMatchObject({
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    stop_reason: 'tool_use',
    content: [
      { type: 'thinking', thinking: 'Weather?' },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', name: 'get_weather', input: { city: 'Recife' } },
    ],
    usage: { input_tokens: 12, cache_read_input_tokens: 8, output_tokens: 5 },
  })
  const names = [...stream.text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name)
  expect(names[0]).toBe('message_start')
  expect(names.slice(-2)).toEqual(['message_delta', 'message_stop'])
  expect(names.filter((name) => name === 'content_block_start')).toHaveLength(3)
  expect(unsigned).toMatchObject({ status: 400, body: { type: 'error', error: { type: 'invalid_request_error' } } })
})

test('the replay server responds like Google, complete and streamed', async () => {
  await using server = await startReplayServer(script)
  const question = { contents: [{ role: 'user', parts: [{ text: 'Weather?' }] }] }

  const whole = await post(`${server.url}/v1beta/models/m:generateContent`, question)
  const stream = await post(`${server.url}/v1beta/models/m:streamGenerateContent?alt=sse`, question)

  expect(whole.body).toMatchObject({
    candidates: [
      {
        finishReason: 'STOP',
        content: {
          role: 'model',
          parts: [
            { text: 'Weather?', thought: true },
            { text: 'Let me look.' },
            { functionCall: { name: 'get_weather', args: { city: 'Recife' } } },
          ],
        },
      },
    ],
    usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 5, cachedContentTokenCount: 8 },
  })
  expect(stream.text).toContain('"finishReason":"STOP"')
})

test('the replay server returns errors in the format of the provider', async () => {
  await using server = await startReplayServer(
    { steps: [{ when: { step: 1 }, error: { status: 429, message: 'Slow down', retry_after: 7 } }] },
    { key: 'right' },
  )
  const messages = [{ role: 'user', content: 'x' }]
  const later = [...messages, { role: 'assistant', content: 'y' }, { role: 'user', content: 'z' }]
  const openai = (body: unknown, key = 'right') =>
    post(`${server.url}/v1/chat/completions`, body, { authorization: `Bearer ${key}` })

  const busy = await openai({ model: 'm', messages })
  const anthropic = await post(
    `${server.url}/v1/messages`,
    { model: 'm', max_tokens: 1, messages },
    { 'x-api-key': 'right' },
  )
  const stranger = await openai({ model: 'm', messages }, 'wrong')
  const shapeless = await openai({ model: 'm', messages: 'hello' })
  const lost = await openai({ model: 'm', messages: later })
  const nowhere = await post(`${server.url}/v1/else`, {})

  expect(busy).toMatchObject({ status: 429, body: { error: { message: 'Slow down', code: 'rate_limit_exceeded' } } })
  expect(busy.headers.get('retry-after')).toBe('7')
  expect(anthropic.body).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } })
  expect(stranger).toMatchObject({ status: 401, body: { error: { code: 'invalid_api_key' } } })
  expect(shapeless.status).toBe(400)
  expect(lost).toMatchObject({ status: 400, body: { error: { code: 'replay_step_missing' } } })
  expect(lost.body.error.message).toContain('step 2, last user message "z"')
  expect(nowhere.status).toBe(404)
})

test('the replay command serves a script until SIGTERM, and reports errors in a script', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  const file = join(folder, 'script.yaml')
  await writeFile(file, 'steps:\n  - answer: Hello!\n')
  const child = spawnCli(['replay', file, '--port', '0'])
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const [url] = /http:\/\/[\d.:]+/.exec(line.toString()) ?? []

  const { body } = await post(`${url}/v1/chat/completions`, { model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
  child.kill('SIGTERM')
  const [code] = await once(child, 'close')
  const wrong = await runCli(['replay', '-'], { stdin: 'steps:\n  - anser: Hello!\n' })
  const none = await runCli(['replay'])

  expect(body.choices[0].message.content).toBe('Hello!')
  expect(code).toBe(0)
  expect(wrong).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('script.steps[0].anser: is not a known field'),
  })
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage: quartermaster replay') })
  await rm(folder, { recursive: true })
})

test('the replay command ends when the npx that started it is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  const file = join(folder, 'script.yaml')
  await writeFile(file, 'steps:\n  - answer: Hello!\n')
  // npx starts commands through a shell. The trailing `true` keeps the shell running as their parent.
  const shell = spawn('sh', ['-c', '"$0" bin/quartermaster.js replay "$1" --port 0; true', process.execPath, file], {
    cwd: new URL('..', import.meta.url).pathname,
    env: { PATH: process.env.PATH, npm_lifecycle_event: 'npx' },
  })
  const [line] = (await once(shell.stdout, 'data')) as [Buffer]
  const [url] = /http:\/\/[\d.:]+/.exec(line.toString()) ?? []
  expect((await fetch(`${url}/v1/models`)).status).toBe(200)

  shell.kill('SIGKILL')

  // The output closes when the last process that writes to it has ended.
  await once(shell, 'close')
  await expect(fetch(`${url}/v1/models`)).rejects.toThrow()
  await rm(folder, { recursive: true })
})

const user = (content: string): Message => ({ role: 'user', content })

/** Has the same conversation with any provider: a prompt, then the output of a tool. */
async function converse({ platform }: TestPlatform, id: string, models: AskingParts): Promise<ModelAnswer[]> {
  const provider = await platform.store.aiProviders.find(id)
  if (!provider) throw new Error('no provider')
  const ask = (messages: Message[]) =>
    models.generate(provider, {
      ...{ model: 'm', messages, tools: [], toolChoice: 'auto' as const, temperature: null },
      signal: new AbortController().signal,
    })
  const first = await ask([user('Weather?')])
  const asked: Message[] = [
    user('Weather?'),
    { role: 'assistant', content: first.text, tool_calls: first.tool_calls },
    {
      ...{ role: 'tool', tool_call_id: first.tool_calls[0]?.id ?? '', tool_name: 'get_weather', is_error: false },
      output: { degrees: 31 },
    },
  ]
  return [first, await ask(asked)]
}
type AskingParts = TestPlatform['platform']['models']

test('the recording of a provider with "record" is a script that gives the same responses', async () => {
  await using server = await startReplayServer({
    ...script,
    steps: [
      ...script.steps.slice(0, 1),
      { when: { last_tool: 'get_weather' }, answer: { text: 'Use {{ braces }}: {"a": 1}', literal: true } },
    ],
  })
  await using platform = await startPlatform()
  const { models } = platform.platform
  const recorded = await platform.post('/ai-providers', {
    ...{ name: 'real', type: 'openai-compatible', base_url: `${server.url}/v1`, record: true },
  })

  const before = await platform.get(`/ai-providers/${recorded.body.id}/recording`)
  const real = await converse(platform, recorded.body.id, models)
  const { body } = await platform.get(`/ai-providers/${recorded.body.id}/recording`)
  const replayed = await platform.post('/ai-providers', { name: 'again', type: 'replay', script: body.script })
  const again = await converse(platform, replayed.body.id, models)
  const forgotten = await platform.delete(`/ai-providers/${recorded.body.id}/recording`)

  expect(before.body).toEqual({ steps: 0, script: null })
  expect(body.steps).toBe(2)
  expect(real[1]?.text).toBe('Use {{ braces }}: {"a": 1}')
  const said = (answers: ModelAnswer[]) => answers.map(({ metadata: _, model: __, ...answer }) => answer)
  expect(said(again)).toEqual(said(real))
  expect(forgotten.status).toBe(204)
  expect((await platform.get(`/ai-providers/${recorded.body.id}/recording`)).body.steps).toBe(0)
})

test.each(engines)('a recording keeps the newest 200 responses (%s)', async (engine) => {
  await using database = await freshStore(engine)
  const { aiProviders } = database.store

  for (let at = 1; at <= 205; at++) {
    await aiProviders.addRecorded('aip_1', { when: { step: at }, answer: { text: `${at}` } })
  }
  await aiProviders.addRecorded('aip_2', { when: { step: 1 }, answer: { text: 'another' } })

  const steps = await aiProviders.recorded('aip_1')
  expect(steps).toHaveLength(200)
  expect(steps[0]?.when).toEqual({ step: 6 })
  expect(steps.at(-1)?.when).toEqual({ step: 205 })
})
