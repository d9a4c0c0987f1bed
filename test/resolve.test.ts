import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { as, runCli, startListening } from './clients.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'

interface Candidate {
  readonly slug: string
  readonly type: string
  readonly identifier: string
  readonly score: number
  readonly features: Record<string, number>
}

const actions: [app: string, name: string, description: string][] = [
  ['salesforce', 'get_contacts', 'Get many contacts'],
  ['salesforce', 'create_contact', 'Create a contact'],
  ['salesforce', 'list_deals', 'List deals'],
  ['hubspot', 'create_note', 'Create a note'],
  ['hubspot', 'list_owners', 'List the owners of records'],
  ['gmail', 'send_email', 'Send an email to a person'],
  ['weather', 'current_weather', 'Temperature, wind and rain at a place now'],
]

/** A server with http tools, to which a test can add more. */
async function serve(platform: TestPlatform, more: object[] = []) {
  for (const [app, name, description] of actions) {
    const { status, body } = await platform.post('/tools', {
      app,
      name,
      description,
      parameters: {},
      execute: { url: 'http://127.0.0.1:9/' },
    })
    expect(status, JSON.stringify(body)).toBe(201)
  }
  for (const tool of more)
    await platform.post('/tools', { parameters: {}, execute: { url: 'http://127.0.0.1:9/' }, ...tool })
  await platform.post('/servers', { slug: 's', agent_mode: true })
  const resolve = async (integration_query: unknown, options: { limit?: number; key?: string } = {}) => {
    const { limit, key = adminKey } = options
    return platform.post('/servers/s/resolve', { integration_query, ...(limit && { limit }) }, { key })
  }
  const first = async (query: string): Promise<Candidate> => (await resolve([query])).body.results[0].candidates[0]
  return { resolve, first }
}

/** The response of RESOLVE_ACTIONS over MCP. */
const resolveActions = (platform: TestPlatform, integration_query: unknown, more: object = {}): Promise<string> =>
  callTool(platform, 'RESOLVE_ACTIONS', { integration_query, ...more })

async function callTool(platform: TestPlatform, name: string, given: object): Promise<string> {
  const response = await platform.fetch('/mcp/s', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${adminKey}`,
      host: 'localhost',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: given },
    }),
  })
  const text = await response.text()
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text).result.content[0].text
}

describe('the ranking of a server’s actions', () => {
  test('has candidates for each query, in the order of the queries, best first', async () => {
    await using platform = await startPlatform()
    const { resolve } = await serve(platform)

    const { status, body } = await resolve(['Add a note HubSpot', 'List Contacts Salesforce'], { limit: 3 })

    expect(status).toBe(200)
    expect(body.results.map(({ query }: { query: string }) => query)).toEqual([
      'Add a note HubSpot',
      'List Contacts Salesforce',
    ])
    expect(body.results[0].candidates[0]).toMatchObject({ slug: 'hubspot', type: 'action', identifier: 'create_note' })
    expect(body.results[1].candidates[0]).toMatchObject({ slug: 'salesforce', identifier: 'get_contacts' })
    for (const { candidates } of body.results) {
      const scores = candidates.map(({ score }: Candidate) => score)
      expect(scores).toEqual([...scores].sort((a, b) => b - a))
      expect(candidates.length).toBeLessThanOrEqual(3)
      expect(candidates[0].features).toMatchObject({ app: expect.any(Number), lexical: expect.any(Number) })
    }
  })

  test('contains only actions that the caller can call, with scores that reveal nothing about others', async () => {
    await using platform = await startPlatform()
    await using other = await startPlatform()
    const { resolve } = await serve(platform)
    const tools = (await platform.get('/tools?limit=100')).body.data
    const own = tools.filter(({ app }: { app: string }) => app !== 'hubspot')
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['servers:ResolveActions'] },
      { effect: 'Allow', action: ['tools:CallTool'], resource: own.map(({ id }: { id: string }) => `qm:*:tool:${id}`) },
    ])
    for (const { app, name, description, parameters, execute } of own) {
      await other.post('/tools', { app, name, description, parameters, execute })
    }
    await other.post('/servers', { slug: 's' })

    const query = ['Create Note HubSpot', 'list owners', 'Create a contact']
    const limited = await resolve(query, { key })
    const alone = await other.post('/servers/s/resolve', { integration_query: query })

    expect(limited.body).toEqual(alone.body)
    expect(
      JSON.stringify(limited.body.results.map(({ candidates }: { candidates: object }) => candidates)),
    ).not.toContain('hubspot')
  })

  test('ignores preset parameters', async () => {
    await using platform = await startPlatform()
    const parameters = { type: 'object', properties: { zanzibar: { type: 'string' }, city: { type: 'string' } } }
    const { resolve } = await serve(platform, [
      { name: 'open_door', description: 'Opens', parameters },
      { name: 'shut_door', description: 'Shuts', parameters, preset_parameters: { zanzibar: 'x' } },
    ])

    const { candidates } = (await resolve(['zanzibar'], { limit: 20 })).body.results[0]

    expect(candidates.map(({ identifier }: Candidate) => identifier)).toEqual(['open_door'])
  })

  test('includes new tools immediately, and not deleted ones', async () => {
    await using platform = await startPlatform()
    const { resolve, first } = await serve(platform)
    await first('Launch rocket')

    const made = await platform.post('/tools', {
      name: 'launch_rocket',
      parameters: {},
      execute: { url: 'http://127.0.0.1:9/' },
    })
    const asked = Array.from({ length: 20 }, () => resolve(['Launch rocket', 'List Contacts Salesforce']))
    await platform.delete(`/tools/${made.body.id}`)
    const answers = await Promise.all(asked)

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect((await first('Launch rocket'))?.identifier).not.toBe('launch_rocket')
  })

  test('accepts any text, and refuses too many or too long queries', async () => {
    await using platform = await startPlatform()
    const { resolve } = await serve(platform)

    for (const query of [
      '',
      '   ',
      '创建联系人',
      'Создать контакт',
      'salesforce',
      'Notion',
      '\u0000',
      '🚀'.repeat(500),
    ]) {
      expect((await resolve([query])).status, query).toBe(200)
    }
    expect((await resolve([''])).body.results).toEqual([{ query: '', candidates: [] }])
    expect((await resolve([])).status).toBe(400)
    expect((await resolve(Array.from({ length: 10_000 }, () => 'x'))).status).toBe(400)
    expect((await resolve(['x'.repeat(1024 * 1024)])).status).toBe(400)
    expect((await resolve('List Contacts')).status).toBe(400)
    expect((await platform.post('/servers/none/resolve', { integration_query: ['x'] })).status).toBe(404)
  })
})

describe('RESOLVE_ACTIONS', () => {
  test('returns the best action for each query, in the order of the queries, and nothing else (S0.20) (S0.21)', async () => {
    await using platform = await startPlatform()
    await serve(platform)

    const plan = JSON.parse(await resolveActions(platform, ['Add a note HubSpot', 'List Contacts Salesforce']))

    expect(plan.map(({ slug, identifier }: Candidate) => `${slug}/${identifier}`)).toEqual([
      'hubspot/create_note',
      'salesforce/get_contacts',
    ])
  })

  test('returns two actions if the query is ambiguous', async () => {
    await using platform = await startPlatform()
    await serve(platform, [
      { app: 'pipedrive', name: 'archive_lead', description: 'Archive a lead' },
      { app: 'zoho', name: 'archive-lead', description: 'Archive a lead' },
    ])

    const both = JSON.parse(await resolveActions(platform, ['Archive a lead']))
    const one = JSON.parse(await resolveActions(platform, ['Archive a lead Zoho']))

    expect(both.map(({ slug }: Candidate) => slug).sort()).toEqual(['pipedrive', 'zoho'])
    expect(one.map(({ slug }: Candidate) => slug)).toEqual(['zoho'])
  })

  test('shortens the schemas of alternatives, returns them in full on request, and stays within the budget', async () => {
    await using platform = await startPlatform()
    const lead = { type: 'string', description: 'The id of the lead. '.repeat(10) }
    const parameters = { type: 'object', properties: { lead }, required: ['lead'] }
    await serve(platform, [
      { app: 'pipedrive', name: 'archive_lead', description: 'Archive a lead', parameters },
      { app: 'zoho', name: 'archive-lead', description: 'Archive a lead', parameters },
    ])

    const [best, other] = JSON.parse(await resolveActions(platform, ['Archive a lead']))
    const whole = JSON.parse(await resolveActions(platform, ['Archive a lead'], { full_schema: true }))
    await platform.patch('/servers/s', { resolve_tokens: 100 })
    const few = JSON.parse(await resolveActions(platform, ['Archive a lead']))

    expect(best.json_schema).toEqual(parameters)
    expect(other.json_schema).toEqual({ ...parameters, properties: { lead: { type: 'string' } } })
    expect(other.note).toContain('full_schema')
    expect(whole.map(({ json_schema }: { json_schema: object }) => json_schema)).toEqual([parameters, parameters])
    expect(few).toHaveLength(1)
  })

  test('is not needed again after a wrong input: the error has the whole schema', async () => {
    await using platform = await startPlatform()
    const parameters = {
      type: 'object',
      properties: { lead: { type: 'string', description: 'The id of the lead' } },
      required: ['lead'],
    }
    await serve(platform, [{ app: 'zoho', name: 'archive-lead', description: 'Archive a lead', parameters }])

    const answer = await callTool(platform, 'EXECUTE_ACTION', {
      application_slug: 'zoho',
      action_id: 'archive-lead',
      type: 'action',
      input_payload: { lead: 7 },
    })

    expect(JSON.parse(answer)).toEqual({
      success: false,
      error: expect.stringContaining('lead'),
      json_schema: parameters,
    })
  })

  test('says that the named app is missing, and names the nearest, instead of using another app (S0.22)', async () => {
    await using platform = await startPlatform()
    const { resolve } = await serve(platform, [
      { app: 'discord', name: 'send_message', description: 'Send a message to a channel' },
      { app: 'googledrive', name: 'upload_file', description: 'Upload a file' },
    ])

    const slack = await resolveActions(platform, ['Send a message Slack'])
    const calendar = await resolveActions(platform, ['Upload a file Google Photos'])
    const both = await resolveActions(platform, ['Send a message Slack', 'List Contacts Salesforce'])
    const { body } = await resolve(['Send a message Slack', 'Send a message Discord'])

    expect(slack).toMatch(
      /^Couldn't find any matching actions for "Send a message Slack"\. There is no app "Slack" here\./,
    )
    expect(slack).toContain('The nearest apps are "discord"')
    expect(calendar).toContain('There is no app "Google Photos" here.')
    expect(JSON.parse(both)).toMatchObject([{ slug: 'salesforce', identifier: 'get_contacts' }])
    expect(body.results[0]).toMatchObject({ missing_app: 'Slack' })
    expect(body.results[0].candidates[0].score).toBeLessThanOrEqual(0.1)
    expect(body.results[1]).not.toHaveProperty('missing_app')
    expect(body.results[1].candidates[0]).toMatchObject({ slug: 'discord' })
    expect(body.results[1].candidates[0].score).toBeGreaterThan(0.5)
  })

  test('returns a plain sentence if nothing matches or the query is empty (S0.22)', async () => {
    await using platform = await startPlatform()
    await serve(platform)

    expect(await resolveActions(platform, ['Launch rocket Cape'])).toMatch(/^Couldn't find any matching actions/)
    expect(await resolveActions(platform, ['', ' '])).toMatch(/^Couldn't find any matching actions/)
  })
})

const searchOf = async (platform: TestPlatform) => {
  const response = await platform.fetch('/ready')
  expect(response.status).toBe(200)
  return ((await response.json()) as { search: { mode: string; model?: string; reason?: string } }).search
}

describe('semantic search', () => {
  test('uses the built-in model once the actions are embedded', { timeout: 30_000 }, async () => {
    await using platform = await startPlatform({ QM_EMBEDDINGS: 'embedded' })
    const { first } = await serve(platform)

    const byWords = await first('forecast for Recife: sunny or cloudy?')
    const byMeaning = await vi.waitFor(
      async () => {
        const found = await first('forecast for Recife: sunny or cloudy?')
        expect(found?.features.meaning ?? 0).not.toBe(0)
        return found
      },
      { timeout: 20_000, interval: 100 },
    )

    expect(byWords?.features.meaning ?? 0).toBe(0)
    expect(byMeaning).toMatchObject({ slug: 'weather', identifier: 'current_weather' })
    expect(await searchOf(platform)).toEqual({ mode: 'meaning', model: 'all-MiniLM-L6-v2-int8' })
  })

  test('falls back to keywords if the model is missing or broken, which /ready reports', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quartermaster-model-'))
    await using missing = await startPlatform({ QM_EMBEDDINGS: 'embedded', QM_EMBEDDINGS_FOLDER: folder })
    const { first } = await serve(missing)
    expect(await first('List Contacts Salesforce')).toMatchObject({ identifier: 'get_contacts' })
    await vi.waitFor(async () =>
      expect(await searchOf(missing)).toMatchObject({ mode: 'words', reason: 'a model file is missing' }),
    )

    await writeFile(join(folder, 'tokenizer.json'), '{}')
    await mkdir(join(folder, 'onnx'))
    await writeFile(join(folder, 'onnx/model_quantized.onnx'), 'not a model')
    await using broken = await startPlatform({ QM_EMBEDDINGS: 'embedded', QM_EMBEDDINGS_FOLDER: folder })
    const { first: find } = await serve(broken)
    expect(await find('Create Note HubSpot')).toMatchObject({ identifier: 'create_note' })
    await vi.waitFor(async () =>
      expect(await searchOf(broken)).toMatchObject({ mode: 'words', reason: expect.stringContaining('checksum') }),
    )
    await rm(folder, { recursive: true })
  })

  test('can use an OpenAI-compatible endpoint instead, and stores the vectors', async () => {
    const weather = /weather|sunny/i
    await using endpoint = await startService(({ body }) => {
      const { input } = JSON.parse(body) as { input: string[] }
      const data = input.map((text, index) => ({ index, embedding: weather.test(text) ? [1, 0, 0.1] : [0, 1, 0.1] }))
      return { body: JSON.stringify({ object: 'list', data }) }
    })
    await using platform = await startPlatform({
      QM_EMBEDDINGS_URL: `${endpoint.url}/v1`,
      QM_EMBEDDINGS_MODEL: 'small',
      QM_EMBEDDINGS_KEY: 'sk-endpoint',
    })
    const { first } = await serve(platform)

    await vi.waitFor(async () => expect((await first('sunny or cloudy?'))?.identifier).toBe('current_weather'))

    expect(endpoint.received[0]).toMatchObject({ method: 'POST', url: '/v1/embeddings' })
    expect(endpoint.received[0]?.headers.authorization).toBe('Bearer sk-endpoint')
    expect(JSON.parse(endpoint.received[0]?.body ?? '')).toMatchObject({ model: 'small' })
    const kept = await platform.platform.store.engine.db.selectFrom('vectors').selectAll().execute()
    expect(kept).toHaveLength(actions.length)
    expect(JSON.stringify(await searchOf(platform))).not.toContain('sk-endpoint')
  })

  test('sends the prefixes that the model was trained with', async () => {
    await using endpoint = await startService(({ body }) => {
      const { input } = JSON.parse(body) as { input: string[] }
      return { body: JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1, 0.5, 0.1] })) }) }
    })
    await using platform = await startPlatform({
      QM_EMBEDDINGS_URL: endpoint.url,
      QM_EMBEDDINGS_MODEL: 'nomic-embed-text',
      QM_EMBEDDINGS_QUERY_PREFIX: 'find: ',
    })
    const { first } = await serve(platform)
    await vi.waitFor(async () => expect((await first('Send an email'))?.features.meaning).not.toBe(0), 20_000)

    const sent = endpoint.received.flatMap(({ body }) => (JSON.parse(body) as { input: string[] }).input)

    expect(sent).toContain('find: Send an email')
    expect(sent.filter((text) => text.startsWith('search_document: '))).toHaveLength(2 * actions.length)
  })

  test('uses the stored meaning of an earlier request, however many there were since', {
    timeout: 30_000,
  }, async () => {
    await using endpoint = await startService(({ body }) => {
      const { input } = JSON.parse(body) as { input: string[] }
      return { body: JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1, 0.5, 0.1] })) }) }
    })
    await using platform = await startPlatform({ QM_EMBEDDINGS_URL: endpoint.url })
    const { resolve, first } = await serve(platform)
    await vi.waitFor(async () => expect((await first('Send an email'))?.features.meaning).not.toBe(0), 20_000)

    for (let asked = 0; asked < 2000; asked += 100) {
      await resolve(Array.from({ length: 100 }, (_, at) => `Send an email ${asked + at}`))
    }
    const { body } = await resolve(['Send an email 1950', 'Send an email to Ana'])

    const meanings = body.results.map(({ candidates }: { candidates: Candidate[] }) => candidates[0]?.features.meaning)
    expect(meanings).toEqual([expect.any(Number), expect.any(Number)])
    expect(meanings).not.toContain(0)
  })

  test('falls back to keywords while the endpoint fails', async () => {
    await using endpoint = await startService(() => ({ status: 500, body: 'no' }))
    await using platform = await startPlatform({ QM_EMBEDDINGS_URL: endpoint.url })
    const { first } = await serve(platform)

    expect(await first('List Contacts Salesforce')).toMatchObject({ identifier: 'get_contacts' })
    await vi.waitFor(async () =>
      expect(await searchOf(platform)).toMatchObject({ mode: 'words', reason: expect.stringContaining('500') }),
    )
  })
})

describe('the footprint of a server', () => {
  test('is the token count of its tool list in both modes, with a recommendation', async () => {
    await using platform = await startPlatform()
    await serve(platform)
    const description = 'Does one of the many things that this application can do for you and your team. '.repeat(3)
    for (let at = 0; at < 120; at++) {
      await platform.post('/tools', {
        name: `thing_${at}`,
        description,
        parameters: {},
        execute: { url: 'http://127.0.0.1:9/' },
      })
    }

    const all = await platform.get('/servers/s/footprint')
    await platform.patch('/servers/s', { apps: [{ slug: 'gmail' }], agent_mode: false })
    const few = await platform.get('/servers/s/footprint')

    expect(all.body).toMatchObject({
      tokenizer: 'o200k_base',
      mode: 'agent',
      direct: { tools: actions.length + 120 },
      agent: { tools: 2 },
      advice: { mode: 'agent' },
    })
    expect(all.body.direct.tokens).toBeGreaterThan(5 * all.body.agent.tokens)
    expect(few.body).toMatchObject({ mode: 'direct', direct: { tools: 1 }, advice: { mode: 'direct' } })
    expect(few.body.agent).toEqual(all.body.agent)
  })
})

describe('quartermaster eval resolve', () => {
  test('measures your own queries against your own tools', async () => {
    await using platform = await startListening()
    await serve(platform)
    const queries = [
      { query: 'List Contacts Salesforce', relevant: ['salesforce/get_contacts'] },
      { query: 'Create Note HubSpot', relevant: ['hubspot/create_note', 'hubspot/other'] },
      { query: 'Send an email Gmail', relevant: ['gmail/archive_email'] },
    ]
    const stdin = queries.map((one) => JSON.stringify(one)).join('\n')

    const { code, stdout, stderr } = await runCli(['eval', 'resolve', '-', '--server-id', 's'], {
      ...as(platform.url),
      stdin,
    })

    expect(code, stderr).toBe(0)
    expect(stdout).toContain('queries  3')
    expect(stdout).toContain('Hit@1    66.7 %')
    expect(stdout).toContain('missed: "Send an email Gmail" expected gmail/archive_email, got gmail/send_email')
  })

  test('reports invalid arguments and queries', async () => {
    await using platform = await startListening()
    const run = (args: string[], stdin = '') => runCli(['eval', ...args], { ...as(platform.url), stdin })

    expect(await run([])).toMatchObject({ code: 2, stderr: expect.stringMatching(/resolve/) })
    expect(await run(['resolve', '-'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--server-id is missing/),
    })
    expect(await run(['resolve', '-', '--server-id', 's'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no queries/),
    })
    expect(await run(['resolve', '-', '--server-id', 's'], '{"query":1}')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Line 1/),
    })
    expect(await run(['resolve', '/none', '--server-id', 's'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Cannot read/),
    })
    const none = await run(['resolve', '-', '--server-id', 'none'], '{"query":"x","relevant":["a/b"]}')
    expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/RESOURCE_NOT_FOUND/) })
  })
})
