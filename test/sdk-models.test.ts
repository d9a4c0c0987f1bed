import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount } from 'ai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ReplayServer, startReplayServer } from '../src/agents/models/replay-server.ts'
import { Quartermaster, type ServerTools } from '../src/sdk/index.ts'
import { startListening } from './clients.ts'
import { adminKey, type Service, startService } from './kit.ts'

/** A model that calls a tool with invalid arguments, then with valid ones, and repeats its output. */
const name = 'tools_weather_action'
const script = {
  steps: [
    { answer: { tool_calls: [{ name, args: {} }] } },
    { when: { step: 2, last_tool: { output: 'city' } }, answer: { tool_calls: [{ name, args: { city: 'Recife' } }] } },
    { when: { step: 3 }, answer: 'It said {{last_tool_output}}' },
  ],
}

let service: Service
let platform: Awaited<ReturnType<typeof startListening>>
let model: ReplayServer
let tools: ServerTools

beforeAll(async () => {
  service = await startService(() => ({ body: '{"degrees":21}' }))
  platform = await startListening()
  model = await startReplayServer(script)
  await platform.post('/tools', {
    name: 'weather',
    description: 'The weather in a city',
    execute: { url: service.url },
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  })
  await platform.post('/servers', { slug: 'direct' })
  const { data, error } = await new Quartermaster({ baseUrl: platform.url, token: adminKey }).servers.tools('direct')
  if (error) throw new Error(error.message)
  tools = data
})

afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
  await model.close()
})

// biome-ignore lint/suspicious/noExplicitAny: tests read responses field by field
const post = async (path: string, body: object, headers: Record<string, string> = {}): Promise<any> => {
  const response = await fetch(`${model.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return response.json()
}

test('the tools of a server work with OpenAI chat completions', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: messages are sent back unchanged
  const messages: any[] = [{ role: 'user', content: 'How is it?' }]
  for (let step = 0; step < 3; step++) {
    const { choices } = await post('/v1/chat/completions', { model: 'm', messages, tools: tools.forOpenAI() })
    messages.push(choices[0].message, ...(await tools.answerOpenAI(choices[0].message.tool_calls)))
  }
  expect(messages.at(-1).content).toBe('It said {"degrees":21}')
})

test('the tools of a server work with Anthropic messages', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: messages are sent back unchanged
  const messages: any[] = [{ role: 'user', content: 'How is it?' }]
  for (let step = 0; step < 3; step++) {
    const body = { model: 'm', max_tokens: 100, messages, tools: tools.forAnthropic() }
    const { content } = await post('/v1/messages', body, { 'anthropic-version': '2023-06-01', 'x-api-key': 'x' })
    messages.push({ role: 'assistant', content })
    const results = await tools.answerAnthropic(content)
    if (results.length > 0) messages.push({ role: 'user', content: results })
  }
  expect(messages.at(-1).content[0].text).toBe('It said {"degrees":21}')
})

test('the tools of a server work with the AI SDK', async () => {
  const provider = createOpenAICompatible({ name: 'scripted', baseURL: `${model.url}/v1`, apiKey: 'x' })
  const { text } = await generateText({
    model: provider.chatModel('m'),
    prompt: 'How is it?',
    tools: tools.forAiSdk(),
    stopWhen: isStepCount(3),
  })
  expect(text).toBe('It said {"degrees":21}')
})

test('an unknown server, an invalid key and an unreachable platform are returned as errors, not thrown', async () => {
  const qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const missing = await qm.servers.tools('nothing')
  expect(missing.error?.code).toBe('RESOURCE_NOT_FOUND')
  const stranger = new Quartermaster({ baseUrl: platform.url, token: 'sk_nobody' })
  expect((await stranger.servers.tools('direct')).error?.code).toBe('UNAUTHENTICATED')
  const away = new Quartermaster({ baseUrl: 'http://127.0.0.1:9', token: adminKey })
  expect((await away.servers.tools('direct')).error?.code).toBe('NETWORK')
})
