import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { listen } from '../src/server/listen.ts'
import { checkPages, faultsOf } from './axe.ts'
import { launchBrowser, settled, signIn, sizes, browserTest as test, visit } from './browser.ts'
import { adminKey, type Service, startPlatform, startService, type TestPlatform } from './kit.ts'
import { picture } from './screenshots.ts'

vi.setConfig({ testTimeout: 90_000 })

const operation = (operationId: string, tag: string, summary: string, more: object = {}) => ({
  operationId,
  tags: [tag],
  summary,
  responses: { 200: { description: 'ok', content: { 'application/json': {} } } },
  ...more,
})
const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
const document = {
  openapi: '3.1.0',
  info: { title: 'Bookshop API', version: '1' },
  servers: [{ url: '/v1' }],
  security: [{ token: [] }],
  components: { securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'From your account page' } } },
  paths: {
    '/books': {
      get: operation('list-books', 'books', 'List books'),
      post: operation('add-book', 'books', 'Add a book', {
        requestBody: {
          content: { 'application/json': { schema: { type: 'object', properties: { title: { type: 'string' } } } } },
        },
      }),
    },
    '/books/{id}': {
      parameters: [id],
      get: operation('get-book', 'books', 'Get a book'),
      delete: operation('remove-book', 'books', 'Remove a book', { deprecated: true }),
      trace: operation('trace-book', 'books', 'Trace a book'),
    },
    '/readers': { get: operation('list-readers', 'readers', 'List readers') },
  },
}

let browser: Browser
let platform: TestPlatform
let service: Service
let server: Awaited<ReturnType<typeof listen>>

beforeAll(async () => {
  browser = await launchBrowser()
  service = await startService(({ url }) => (url === '/openapi.json' ? { body: JSON.stringify(document) } : undefined))
  platform = await startPlatform()
  server = await listen(platform.platform, '127.0.0.1', 0)
}, 60_000)

afterAll(async () => {
  await browser?.close()
  platform?.platform.drain()
  await server?.close(5)
  await platform?.[Symbol.asyncDispose]()
  await service?.[Symbol.asyncDispose]()
})

test('an API is imported by its URL: read the document, choose operations, create the tool, try it, and look at the app', async () => {
  await using visitor = await visit(browser)
  const { page, complaints } = visitor
  await signIn(page, `${server.url}/tools/import-api`, adminKey)

  await page.getByLabel('URL', { exact: true }).fill(`${service.url}/nothing`)
  await page.getByRole('button', { name: 'Read document' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('URL', { exact: true }).fill(`${service.url}/openapi.json`)
  await page.getByRole('button', { name: 'Read document' }).click()
  await page.getByText('5 of 5 operations selected').waitFor()
  await page.getByText('TRACE requests are not supported').waitFor()
  await page.getByLabel('Tag').selectOption('readers')
  await page.getByRole('button', { name: 'Clear 1' }).click()
  await page.getByLabel('Tag').selectOption('books')
  await page.getByLabel('remove-book').uncheck()
  await page.getByLabel('Credential: token').fill('a-token-of-the-bookshop')
  const faults: Record<string, string[]> = {}
  for (const size of ['desktop', 'phone'] as const) {
    await page.setViewportSize(sizes[size])
    await settled(page)
    await picture(page, 'import-api', size)
    faults[size] = await faultsOf(page)
  }
  await page.getByRole('button', { name: 'Create tool with 3 actions' }).click()

  await page.getByRole('heading', { name: 'bookshop', level: 1 }).waitFor()
  const [tool] = (await platform.get('/tools?name=bookshop')).body.data
  expect(tool.openapi.include).toEqual(['list-books', 'add-book', 'get-book'].map((name) => ({ operation: name })))
  await page.getByLabel('Action').selectOption({ label: 'list-books' })
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('"ok": true').waitFor()
  expect(service.received.at(-1)?.headers.authorization).toBe('Bearer a-token-of-the-bookshop')
  await page.getByRole('tab', { name: 'What the model sees' }).click()
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText('Refreshed: 0 added, 0 changed, 0 removed.').waitFor()
  await page.goto(`${server.url}/apps/bookshop`)
  await page.getByText('0 connected accounts').waitFor()
  await page.getByRole('button', { name: 'Connect account' }).click()
  await page.getByLabel('End user').fill('ana')
  await page.getByRole('button', { name: 'Create link' }).click()
  expect(await page.getByTestId('connect-link').textContent()).toContain('/connect/')
  const found = await checkPages(page, [
    { name: 'apps', url: `${server.url}/apps` },
    { name: 'app', url: `${server.url}/apps/bookshop`, ready: () => page.getByText('list-books').waitFor() },
    { name: 'openapi-tool', url: `${server.url}/tools/${tool.id}?tab=settings` },
  ])
  expect({ ...faults, ...found }).toEqual({ desktop: [], phone: [] })
  // The browser reports the failed request of the wrong URL.
  expect(complaints.filter((one) => !/400/.test(one))).toEqual([])
})
