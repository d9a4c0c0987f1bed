import { describe, expect, test } from 'vitest'
import { Quartermaster } from '../src/sdk/index.ts'
import { as, runCli, startListening } from './clients.ts'
import { adminKey, startService } from './kit.ts'

type Fields = Record<string, unknown>

/** The same two requests through REST, the SDK and the CLI. */
interface Way {
  createTool(body: Fields): Promise<unknown>
  callTool(toolId: string, body: Fields): Promise<unknown>
}

const ways = [
  { way: 'the command line', connect: commandLine, creates: '(S2.57)', calls: '(S2.58)' },
  { way: 'the SDK', connect: sdk, creates: '(S2.59)', calls: '(S2.59)' },
  { way: 'HTTP', connect: http, creates: '(S2.56)', calls: '(S2.53)' },
]

function commandLine(url: string): Way {
  const run = async (args: string[]) => {
    const { code, stdout, stderr } = await runCli(args, as(url))
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout)
  }
  return {
    createTool: (body) => run(['create-tool', ...flags(body)]),
    callTool: (toolId, body) => run(['call-tool', '--tool-id', toolId, ...flags(body)]),
  }
}

function sdk(url: string): Way {
  const qm = new Quartermaster({ baseUrl: url, token: adminKey })
  return {
    async createTool(body) {
      const { data, error } = await qm.tools.createTool({ body: body as { name: string } })
      if (error) throw new Error(JSON.stringify(error))
      return data
    },
    async callTool(toolId, body) {
      const { data, error } = await qm.tools.callTool({ path: { tool_id: toolId }, body })
      if (error) throw new Error(JSON.stringify(error))
      return data
    },
  }
}

function http(url: string): Way {
  const post = async (path: string, body: Fields) => {
    const headers = { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' }
    const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(await response.text())
    return response.json()
  }
  return {
    createTool: (body) => post('/tools', body),
    callTool: (toolId, body) => post(`/tools/${toolId}/call`, body),
  }
}

const flags = (body: Fields) =>
  Object.entries(body).flatMap(([name, value]) => [
    `--${name.replaceAll('_', '-')}`,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])

const weather = (projectId: string, url: string) => ({
  project_id: projectId,
  name: 'get-weather',
  type: 'http',
  description: 'Fetches current weather for a city',
  execute: { url: `${url}/v1/current?city={city}`, method: 'GET' },
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
})

describe.each(ways)('through $way', ({ connect, creates, calls }) => {
  test(`an http tool is registered with all its fields ${creates}`, async () => {
    await using platform = await startListening()
    const body = weather(platform.projectId, 'https://api.weather.example')

    const tool = await connect(platform.url).createTool(body)

    expect(tool).toMatchObject({ ...body, id: expect.stringMatching(/^tool_/), preset_parameters: null })
  })

  test(`a tool is called directly and returns the response of its service ${calls}`, async () => {
    await using platform = await startListening()
    await using service = await startService(() => ({ body: '{"celsius":21}' }))
    const way = connect(platform.url)
    const tool = (await way.createTool(weather(platform.projectId, service.url))) as { id: string }

    const answer = await way.callTool(tool.id, { input: { city: 'São Paulo' } })

    expect(answer).toEqual({ celsius: 21 })
    expect(service.received).toMatchObject([{ method: 'GET', url: '/v1/current?city=S%C3%A3o%20Paulo' }])
  })

  test(`a platform tool is registered with preset parameters, which callers cannot override ${creates}`, async () => {
    await using platform = await startListening()
    for (const path of ['/a.md', '/b.md']) await platform.post('/documents', { path, content: 'refunds take a week' })
    const way = connect(platform.url)

    const tool = (await way.createTool({
      project_id: platform.projectId,
      name: 'docs-search',
      type: 'soat',
      description: 'Searches the project knowledge base',
      actions: ['search-documents'],
      preset_parameters: { limit: 1 },
    })) as { id: string }
    const found = await way.callTool(tool.id, { action: 'search-documents', input: { query: 'refunds', limit: 50 } })

    expect(tool).toMatchObject({ actions: ['search-documents'], preset_parameters: { limit: 1 } })
    expect(found).toMatchObject({ data: [{ path: expect.any(String) }], total: 1, limit: 1 })
  })

  test(`an error of the tool is returned with the same code ${calls}`, async () => {
    await using platform = await startListening()
    await using service = await startService(() => ({ status: 500 }))
    const way = connect(platform.url)
    const tool = (await way.createTool(weather(platform.projectId, service.url))) as { id: string }

    await expect(way.callTool(tool.id, { input: { city: 'Recife' } })).rejects.toThrow('TOOL_HTTP_ERROR')
    await expect(way.callTool(tool.id, { input: {} })).rejects.toThrow('VALIDATION_FAILED')
  })
})

test('the call log records the surface of each call', async () => {
  await using platform = await startListening()
  await using service = await startService()
  const { body: tool } = await platform.post('/tools', weather(platform.projectId, service.url))

  for (const { connect } of ways) await connect(platform.url).callTool(tool.id, { input: { city: 'Natal' } })

  const { body } = await platform.get('/calls')
  expect(body.data.map((call: { surface: string }) => call.surface)).toEqual(['rest', 'sdk', 'cli'])
  expect(body.data[2].client).toEqual({ name: 'quartermaster-cli', version: expect.stringMatching(/^\d+\./) })
})
