import { globSync, readFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readConfig } from '../src/config.ts'
import { createPlatform, defineToolType, done, type Platform, toolTypes } from '../src/main.ts'
import { people } from './approving.ts'
import { adminKey, startPlatform, type TestPlatform } from './kit.ts'

const token = 'correct-horse-battery-staple'

/** A complete custom tool type. Nothing else in the repository knows it. */
const shout = defineToolType({
  type: 'shout',
  title: 'Shout',
  description: 'Says it louder.',
  many: false,
  config: z.object({
    shout: z
      .strictObject({
        suffix: z.string().max(5).default('!').describe('What it ends with'),
        token: z.string().min(8),
      })
      .describe('How it shouts'),
    volume: z.number().max(11).default(3),
  }),
  secrets: ({ shout }) => [shout.token],
  check: ({ config }) => (config.shout.suffix === '.' ? [{ path: 'shout.suffix', message: 'is not loud' }] : []),
  actions: ({ name, description }) => [
    {
      name,
      description,
      schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      idempotent: true,
      destructive: false,
    },
  ],
  execute: async ({ config: { shout, volume }, input }) =>
    done({ text: `${String(input.text).toUpperCase()}${shout.suffix}`, volume, sent_with: shout.token }),
})

const startWithShout = () => startPlatform({}, { toolTypes: [...toolTypes, shout] })
const tool = { name: 'loud', type: 'shout', shout: { token } }

async function register(platform: TestPlatform, fields: object = {}) {
  const { status, body } = await platform.post('/tools', { ...tool, ...fields })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}

test('tools of a custom type are registered, changed and listed like others', async () => {
  await using platform = await startWithShout()

  const made = await register(platform)
  const changed = await platform.patch(`/tools/${made.id}`, { volume: 11 })

  expect(made).toMatchObject({ type: 'shout', app: 'tools', shout: { suffix: '!', token: '[hidden]' }, volume: 3 })
  expect(made).toMatchObject({ execute: null, mcp: null, actions: null, parameters: null })
  expect(changed.body).toMatchObject({ shout: { suffix: '!', token: '[hidden]' }, volume: 11 })
  expect((await platform.get('/tools?type=shout')).body.data).toEqual([changed.body])
  expect((await platform.post('/tools', { ...tool })).body.error.code).toBe('NAME_TAKEN')
})

test.each([
  ['a required field is missing', { shout: null }, 'shout: is missing: shout tools need it'],
  ['a field has the wrong shape', { shout: { token: 'short' } }, 'shout.token: too small'],
  ['a field belongs to another type', { execute: { url: 'http://a' } }, 'execute: is not used by shout tools'],
  ['its own check refuses it', { shout: { token, suffix: '.' } }, 'shout.suffix: is not loud'],
  [
    'a field of the custom type is sent with another type',
    { type: 'client', parameters: {} },
    'shout: is not used by client tools',
  ],
])('a tool of a custom type is refused if %s', async (_, fields, message) => {
  await using platform = await startWithShout()

  const { status, body } = await platform.post('/tools', { ...tool, ...fields })

  expect(status).toBe(400)
  expect(body.error.message).toContain(message)
})

test('secrets of a custom type are hidden from readers, and redacted from results and the call log', async () => {
  await using platform = await startWithShout()
  const { id } = await register(platform)
  const reader = await platform.keyFor([{ effect: 'Allow', action: ['tools:GetTool', 'tools:CallTool'] }])

  const read = await platform.get(`/tools/${id}`, { key: reader })
  const called = await platform.post(`/tools/${id}/call`, { input: { text: token } }, { key: reader })
  const { body: calls } = await platform.get('/calls')
  const recorded = await platform.get(`/calls/${calls.data[0].id}`)

  expect(read.body.shout).toEqual({ suffix: '!', token: '[hidden]' })
  expect(called.body).toMatchObject({ volume: 3, sent_with: '[redacted]' })
  expect(JSON.stringify(recorded.body)).not.toContain(token)
})

test('an approval is bound to the whole config of a custom type by default', async () => {
  await using platform = await startWithShout()
  const { id } = await register(platform, { auto_approve: false })
  const { caller, reviewer } = await people(platform)
  const call = () => platform.post(`/tools/${id}/call`, { input: { text: 'hi' }, wait: false }, { key: caller })

  const { approval_id } = (await call()).body
  await platform.patch(`/tools/${id}`, { volume: 11 })
  await platform.post(`/approvals/${approval_id}/approve`, {}, { key: reviewer })

  expect((await call()).body.error.code).toBe('APPROVAL_STALE')
})

test('tools of a custom type can be called over REST and MCP, and the type is in the OpenAPI document', async () => {
  await using platform = await startWithShout()
  const { id } = await register(platform)
  await platform.post('/servers', { slug: 'all' })

  const overRest = await platform.post(`/tools/${id}/call`, { input: { text: 'hi' } })
  const overMcp = await callOverMcp(platform, 'tools_loud_action', { text: 'hi' })
  const { body: document } = await platform.get('/openapi.json')

  expect(overRest.body.text).toBe('HI!')
  expect(overMcp.result.content[0]?.text).toContain('"HI!"')
  const body = document.paths['/tools'].post.requestBody.content['application/json'].schema.$ref.split('/').at(-1)
  const { properties } = document.components.schemas[body]
  expect(properties.type.enum).toContain('shout')
  expect(properties.shout.description).toBe('How it shouts')
})

test('every key can list the tool types with the JSON Schema of their fields', async () => {
  await using platform = await startWithShout()
  const key = await platform.keyFor([{ effect: 'Allow', action: ['documents:GetDocument'] }])

  const { body } = await platform.get('/tool-types', { key })

  expect(body.data.map(({ type }: { type: string }) => type)).toEqual([
    'http',
    'openapi',
    'mcp',
    'client',
    'platform',
    'workflow',
    'shout',
  ])
  const own = body.data.at(-1)
  expect(own).toMatchObject({ title: 'Shout', many_actions: false, callable: true, has_health: false })
  expect(own.config).toMatchObject({
    required: ['shout'],
    properties: { shout: { properties: { suffix: { description: 'What it ends with' } } } },
  })
})

test('a type with remote actions keeps the last list while the remote system is unreachable', async () => {
  const action = { name: 'Read', description: `Reads with ${token}`, schema: {}, idempotent: true, destructive: false }
  let list = () => [{ ...action, definition: { name: 'Read' } }]
  const remote = defineToolType({
    type: 'remote',
    title: 'Remote',
    description: 'A list elsewhere.',
    many: true,
    config: z.object({ remote_key: z.string() }),
    secrets: ({ remote_key }) => [remote_key],
    lifetime: () => 0,
    actions: () => list(),
    execute: async ({ action }) => done(action.name),
  })
  await using platform = await startPlatform({}, { toolTypes: [...toolTypes, remote] })
  const { body: made } = await platform.post('/tools', { name: 'far', type: 'remote', remote_key: token })
  const path = `/tools/${made.id}`

  const first = await platform.get(`${path}/actions`)
  list = () => {
    throw new Error('away')
  }
  const away = await platform.post(`${path}/call`, { action: 'Read' })
  list = () => [{ ...action, definition: { name: 'Read', title: 'Other' } }]
  await platform.post(`${path}/refresh`)
  const { body: changes } = await platform.get('/calls?action=quartermaster:DEFINITION_CHANGED')

  expect(first.body.data).toMatchObject([{ id: 'far:Read', app: 'far', description: 'Reads with [redacted]' }])
  expect(away.body).toBe('Read')
  expect(changes.total).toBe(1)
})

test('a tool whose type is no longer available can be read and deleted, but not called or changed', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'quartermaster-'))
  const config = readConfig(
    {},
    {
      ...{ QM_DATA: folder.path, QM_ADMIN_KEY: adminKey, QM_LOG_LEVEL: 'error', QM_EMBEDDINGS: 'off' },
    },
  )
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const ask = async (platform: Platform, method: string, path: string, body?: object) => {
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await platform.fetch(`http://platform.test/api/v1/tools${path}`, init)
    return { status: response.status, body: await answerOf(response) }
  }
  const before = await createPlatform(config, { toolTypes: [...toolTypes, shout] })
  const path = `/${(await ask(before, 'POST', '', tool)).body.id}`
  await before.close()

  const after = await createPlatform(config)
  const read = await ask(after, 'GET', path)
  const called = await ask(after, 'POST', `${path}/call`, { input: {} })
  const changed = await ask(after, 'PATCH', path, { timeout_seconds: 5 })
  const deleted = await ask(after, 'DELETE', path)
  await after.close()

  expect(read.body).toMatchObject({ name: 'loud', type: 'shout' })
  for (const { status, body } of [called, changed]) {
    expect({ status, code: body.error.code }).toEqual({ status: 422, code: 'TOOL_TYPE_UNAVAILABLE' })
  }
  expect(deleted.status).toBe(204)
})

test('a custom type with the name or a field of another type is refused at startup', async () => {
  const start = (type: object) => startPlatform({}, { toolTypes: [...toolTypes, { ...shout, ...type }] })

  await expect(start({ type: 'http' })).rejects.toThrow('Two tool types are named "http".')
  await expect(start({ config: z.object({ mcp: z.string() }) })).rejects.toThrow('a field "mcp" with different schemas')
  await expect(start({ config: z.object({ level: z.string() }) })).rejects.toThrow(
    'a field "level", which every tool has',
  )
})

test('no code outside src/tools refers to a tool type by its name or fields', () => {
  const names = toolTypes.flatMap(({ type, aliases = [] }) => [type, ...aliases]).join('|')
  const fields = [...new Set(toolTypes.flatMap(({ config }) => Object.keys(config.shape)))].join('|')
  const compares = new RegExp(`\\btype\\)?\\s*[!=]==\\s*'(?:${names})'|'(?:${names})'\\s*[!=]==|ofType\\('`)
  const reads = new RegExp(`\\b(?:tool|record|draft|target|config)\\??\\.(?:${fields})\\b`)
  const files = globSync(['src/**/*.ts', 'dashboard/src/**/*.{ts,tsx}']).filter(
    (file) => !/^src\/tools\/|^src\/db\/migrations\/|\.test\.|generated\.ts$|sdk\/operations\.ts$/.test(file),
  )

  const found = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => compares.test(line) || reads.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  )

  expect(files.length).toBeGreaterThan(300)
  expect(found).toEqual([])
})

// biome-ignore lint/suspicious/noExplicitAny: tests read responses field by field, and a wrong field name fails the test
const answerOf = async (response: Response): Promise<any> => (response.status === 204 ? null : response.json())

/** Calls a tool like an MCP client. */
async function callOverMcp(platform: TestPlatform, name: string, input: object) {
  const response = await platform.fetch('/mcp/all', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${adminKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  })
  return (await response.json()) as { result: { content: { text: string }[] } }
}
