import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { as, runCli, startListening } from './clients.ts'
import { startService } from './kit.ts'

const document = (padding = '') => ({
  openapi: '3.1.0',
  info: { title: 'Shop API', description: padding },
  servers: [{ url: 'https://shop.example' }],
  security: [{ key: [] }],
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  paths: {
    '/orders': {
      get: { operationId: 'list-orders', tags: ['orders'] },
      post: { operationId: 'create-order', tags: ['orders'] },
    },
    '/people': { get: { operationId: 'list-people', tags: ['people'] }, trace: { operationId: 'trace-people' } },
  },
})

test('an OpenAPI document is imported from a URL, with the operations that were chosen', async () => {
  await using service = await startService(() => ({ body: JSON.stringify(document()) }))
  await using platform = await startListening()

  const args = ['import', 'openapi', service.url, '--tag', 'orders', '--exclude-method', 'post']
  const { code, stdout, stderr } = await runCli([...args, '--credential', 'other=x'], as(platform.url))
  const tool = JSON.parse(stdout)
  const { body } = await platform.get(`/tools/${tool.id}/actions`)

  expect(code).toBe(0)
  expect(tool).toMatchObject({ name: 'shop', openapi: { url: service.url, include: [{ tag: 'orders' }] } })
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['list-orders'])
  expect(stderr).toContain('TRACE /people was left out: TRACE requests are not supported.')
  expect(stderr).toContain('"key" (api_key) has no credential')
})

test('the operations of a document are listed without creating a tool', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'quartermaster-'))
  const file = join(folder.path, 'shop.json')
  await writeFile(file, JSON.stringify(document()))
  await using platform = await startListening()

  const { stdout } = await runCli(['import', 'openapi', file, '--list'], as(platform.url))

  expect(JSON.parse(stdout).operations).toMatchObject([
    { name: 'list-orders' },
    { name: 'create-order' },
    { name: 'list-people' },
  ])
  expect((await platform.get('/tools')).body.total).toBe(0)
})

test('a document larger than a request may be is uploaded as a file, which is removed afterwards', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'quartermaster-'))
  const file = join(folder.path, 'shop.json')
  await writeFile(file, JSON.stringify(document('x'.repeat(5_000_000))))
  await using platform = await startListening()

  const { code } = await runCli(['import', 'openapi', file, '--name', 'big'], as(platform.url))

  expect(code).toBe(0)
  expect((await platform.get('/tools')).body.data).toMatchObject([{ name: 'big', type: 'openapi' }])
  expect((await platform.get('/files')).body.total).toBe(0)
})

test('a document that cannot be imported is reported with its fault', async () => {
  await using platform = await startListening()

  const { code, stderr } = await runCli(['import', 'openapi', '-'], {
    ...as(platform.url),
    stdin: 'openapi: 3.0.0\npaths: [',
  })

  expect(code).toBe(1)
  expect(stderr).toContain('is not valid YAML')
})
