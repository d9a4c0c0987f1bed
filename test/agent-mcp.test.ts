import { describe, expect, test } from 'vitest'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import { startPlatform, type TestPlatform } from './kit.ts'
import { echo, startUpstream, type UpstreamTool } from './upstream.ts'

/** An agent whose model plays a script, over HTTP. */
async function makeAgent(platform: TestPlatform, url: string, fields: object, type = 'openai-compatible') {
  const base_url = `${url}/${type === 'google' ? 'v1beta' : 'v1'}`
  const provider = await platform.post('/ai-providers', {
    name: type,
    type,
    base_url,
    api_key: 'k',
    default_model: 'scripted',
  })
  expect(provider.status, JSON.stringify(provider.body)).toBe(201)
  const agent = await platform.post('/agents', { name: 'a', ai_provider_id: provider.body.id, ...fields })
  expect(agent.status, JSON.stringify(agent.body)).toBe(201)
  return agent.body.id as string
}

const register = async (platform: TestPlatform, name: string, url: string): Promise<string> =>
  (await platform.post('/tools', { name, type: 'mcp', mcp: { url } })).body.id

test('when a conversation starts, an agent lists the tools of its own MCP servers only, and the model gets each description verbatim (S4.1) (S4.7) (S2.41) (S1.19)', async () => {
  const odd: UpstreamTool = { ...echo, description: 'Says it —\n\n  “as it is”,  with\tevery space. ' }
  await using mine = await startUpstream([odd])
  await using also = await startUpstream([{ ...echo, name: 'shout' }])
  await using other = await startUpstream()
  await using model = await startReplayServer({ steps: [{ answer: 'Hello' }] })
  await using platform = await startPlatform()
  const ids = [await register(platform, 'mine', mine.url), await register(platform, 'also', also.url)]
  await register(platform, 'other', other.url)
  const agent = await makeAgent(platform, model.url, { tool_ids: ids })
  const before = [mine, also, other].map(({ headers }) => headers.length)

  const { body } = await platform.post(`/agents/${agent}/generate`, { prompt: 'Hi' })

  expect(body.status, JSON.stringify(body)).toBe('completed')
  expect(before).toEqual([0, 0, 0])
  const lists = [mine, also, other].map(
    ({ headers }) => headers.filter((one) => one['mcp-method'] === 'tools/list').length,
  )
  expect(lists).toEqual([1, 1, 0])
  expect(other.headers).toEqual([])
  const [asked] = model.requests.filter(({ method }) => method === 'POST') as unknown as [
    { body: { tools: { function: { name: string; description: string; parameters: object } }[] } },
  ]
  expect(
    asked.body.tools.map(({ function: { name, description, parameters } }) => [name, description, parameters]),
  ).toEqual([
    ['also_shout', echo.description, echo.inputSchema],
    ['mine_echo', odd.description, odd.inputSchema],
  ])
})

test('an agent sees the error message of an MCP tool and can try something else (S4.10) (S4.11)', async () => {
  const failing: UpstreamTool = {
    ...echo,
    run: ({ text }) =>
      text === 'wrong'
        ? { content: [{ type: 'text', text: 'Failed to save CSV: permission denied' }], isError: true }
        : { content: [{ type: 'text', text: 'saved' }] },
  }
  const call = (text: string) => ({ answer: { tool_calls: [{ name: 'up_echo', args: { text } }] } })
  await using upstream = await startUpstream([failing])
  await using model = await startReplayServer({
    steps: [
      call('wrong'),
      { when: { last_tool: { output: 'Failed to save CSV: permission denied' } }, ...call('right') },
      { answer: 'It is {{last_tool_output}}' },
    ],
  })
  await using platform = await startPlatform()
  const tool_ids = [await register(platform, 'up', upstream.url)]
  const agent = await makeAgent(platform, model.url, { tool_ids })

  const { body } = await platform.post(`/agents/${agent}/generate`, { prompt: 'Save it' })

  expect(body.output?.content, JSON.stringify(body)).toBe('It is saved')
  expect(upstream.calls.map(({ input }) => input.text)).toEqual(['wrong', 'right'])
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe.each([
  ['anthropic', 'seen'],
  ['google', 'seen'],
  ['openai', 'named'],
  ['openai-compatible', 'named'],
])('an image that an MCP tool returns to a %s model', (type, how) => {
  const picture = (data: string) => ({ type: 'image', data, mimeType: 'image/jpeg' })
  const answers: Record<string, object[]> = {
    one: [{ type: 'text', text: 'a chart' }, picture(png)],
    broken: [picture('bm90IGEgcGljdHVyZQ=='), picture('!'), picture(`${png}${'A'.repeat(2_000_000)}`)],
  }

  async function look(names: string[]) {
    await using upstream = await startUpstream([
      { ...echo, run: ({ text }) => ({ content: answers[String(text)] ?? [] }) },
    ])
    const steps = names.map((text) => ({ answer: { tool_calls: [{ name: 'up_echo', args: { text } }] } }))
    await using model = await startReplayServer({ steps: [...steps, { answer: 'I see' }] })
    await using platform = await startPlatform()
    const tool_ids = [await register(platform, 'up', upstream.url)]
    const agent = await makeAgent(platform, model.url, { tool_ids, max_steps: 20 }, type)
    const { body } = await platform.post(`/agents/${agent}/generate`, { prompt: 'Look' })
    expect(body.output?.content, JSON.stringify(body)).toBe('I see')
    const { body: detail } = await platform.get(`/generations/${body.id}`)
    const sent = JSON.stringify(model.requests.at(-1)?.body)
    return { sent, pictures: sent.split(png).length - 1, detail: JSON.stringify(detail) }
  }

  test(`is ${how} with its actual media type, and the run shows only its name`, async () => {
    const { sent, pictures, detail } = await look(['one'])

    expect(pictures).toBe(how === 'seen' ? 1 : 0)
    if (how === 'seen') expect(sent).toMatch(/"(media_type|mimeType)":"image\/png"/)
    expect(sent).toContain('a chart')
    expect(sent).toMatch(/\(image, image\/jpeg, \d+ bytes\)/)
    expect(detail).toContain('(image, image/jpeg,')
    expect(detail).not.toContain(png)
    expect(detail).not.toContain('quartermaster/told')
  })

  test('is only named if it is too large or invalid, and only the last four of many are shown', async () => {
    expect((await look(['broken'])).sent).not.toMatch(/image\/png|AAAAAAAAAAAA|bm90IGEg/)
    expect((await look(['one', 'one', 'one', 'one', 'one', 'one'])).pictures).toBe(how === 'seen' ? 4 : 0)
  })
})
