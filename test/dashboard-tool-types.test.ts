import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { z } from 'zod'
import { defineToolType, done, formHints, toolTypes } from '../src/main.ts'
import { listen } from '../src/server/listen.ts'
import { faultsOf } from './axe.ts'
import { launchBrowser, signIn, browserTest as test, visit } from './browser.ts'
import { adminKey, startPlatform, startService, type TestPlatform } from './kit.ts'

vi.setConfig({ testTimeout: 90_000 })

/** A type with a field of every kind. The dashboard does not know it. */
const post = defineToolType({
  type: 'post',
  title: 'Letter',
  description: 'Sends a letter.',
  many: false,
  config: z.object({
    letter: z
      .strictObject({
        to: z.string().min(5).meta({ title: 'Recipient', description: 'Who gets it' }),
        paper: z.enum(['A4', 'A5']).meta({ title: 'Paper' }),
        urgent: z.boolean().optional().meta({ title: 'Urgent' }),
        lines: z.array(z.string()).optional().meta({ title: 'Lines' }).register(formHints, { control: 'lines' }),
        stamps: z.record(z.string(), z.string()).optional().meta({ title: 'Stamps' }),
        from: z.strictObject({ city: z.string().meta({ title: 'City' }) }).meta({ title: 'Sender' }),
      })
      .meta({ title: 'Envelope' }),
    copies: z.int().default(1).meta({ title: 'Copies' }),
  }),
  summary: ['letter.to'],
  secrets: () => [],
  actions: ({ name, description }) => [{ name, description, schema: {}, idempotent: false, destructive: false }],
  execute: async ({ config }) => done({ sent_to: config.letter.to }),
})

let browser: Browser
let platform: TestPlatform
let server: Awaited<ReturnType<typeof listen>>

beforeAll(async () => {
  browser = await launchBrowser()
  platform = await startPlatform({ QM_ALLOW_STDIO: 'true' }, { toolTypes: [...toolTypes, post] })
  server = await listen(platform.platform, '127.0.0.1', 0)
}, 60_000)

afterAll(async () => {
  await browser?.close()
  platform?.platform.drain()
  await server?.close(5)
  await platform?.[Symbol.asyncDispose]()
})

async function at(path: string) {
  const visitor = await visit(browser)
  await signIn(visitor.page, `${server.url}${path}`, adminKey)
  await visitor.page.locator('h1').first().waitFor()
  return visitor
}

const create = (page: Page) => page.getByRole('button', { name: 'Create tool' }).click()
const find = async (name: string) => (await platform.get(`/tools?name=${name}`)).body.data[0]

test('a tool of a custom type is created, edited and run with forms generated from its schema', async () => {
  await using visitor = await at('/tools/new')
  const { page, complaints } = visitor

  await page.getByText('Letter', { exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('write')
  await page.getByLabel('Recipient').fill(' Ana ')
  await page.getByLabel('Paper').selectOption('A5')
  await page.getByLabel('Urgent').click()
  await page.getByLabel('Lines').fill('one\n\ntwo')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByLabel('Stamps: name 1').fill('first')
  await page.getByLabel('Stamps: value 1').fill('80 cents')
  await page.getByLabel('City').fill('Recife')
  await create(page)
  await page
    .getByText(/too small/)
    .first()
    .waitFor()
  const isInvalid = await page.getByLabel('Recipient').getAttribute('aria-invalid')
  await page.getByLabel('Recipient').fill('Ana Lima')
  const faults = await faultsOf(page)
  await create(page)
  await page.getByRole('heading', { name: 'write' }).waitFor()
  await page.getByText('Ana Lima').waitFor()
  const made = await find('write')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('"sent_to": "Ana Lima"').waitFor()
  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByLabel('Copies').fill('3')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()

  expect(isInvalid).toBe('true')
  expect(faults).toEqual([])
  const letter = { to: 'Ana Lima', paper: 'A5', urgent: true, lines: ['one', 'two'], stamps: { first: '80 cents' } }
  expect(made).toMatchObject({ type: 'post', letter: { ...letter, from: { city: 'Recife' } }, copies: 1 })
  expect(await find('write')).toMatchObject({ letter: made.letter, copies: 3 })
  expect(complaints).toEqual([])
})

test('an MCP server has a URL or a command, and switching between them keeps what was typed', async () => {
  await using visitor = await at('/tools/new')
  const { page, complaints } = visitor

  await page.getByText('MCP server', { exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('files')
  await page.getByLabel('URL').fill('https://docs.example.com/mcp')
  await page.getByLabel('Transport').selectOption('stdio (local command)')
  await page.getByLabel('Command').fill('npx')
  await page.getByLabel('Arguments').fill('-y\nserver')
  await page.getByRole('button', { name: 'Add a variable' }).click()
  await page.getByLabel('Environment: name 1').fill('REGION')
  await page.getByLabel('Environment: value 1').fill('eu')
  await page.getByLabel('Transport').selectOption('HTTP (Streamable HTTP or SSE)')
  const kept = await page.getByLabel('URL').inputValue()
  await page.getByLabel('Transport').selectOption('stdio (local command)')
  await page.getByLabel('Pin definitions').click()
  await create(page)
  await page.getByRole('heading', { name: 'files' }).waitFor()

  expect(kept).toBe('https://docs.example.com/mcp')
  expect(await find('files')).toMatchObject({
    mcp: { command: 'npx', args: ['-y', 'server'], env: { REGION: 'eu' } },
    pin_definitions: true,
  })
  expect(complaints).toEqual([])
})

test('the form of an http tool has its method, headers and input', async () => {
  await using visitor = await at('/tools/new')
  const { page, complaints } = visitor

  await page.getByLabel('Name', { exact: true }).fill('weather')
  await page.getByLabel('Method').selectOption('PUT')
  await page.getByLabel('URL').fill('https://api.example.com/{city}')
  await page.getByRole('button', { name: 'Add a header' }).click()
  await page.getByLabel('Headers: name 1').fill('X-Team')
  await page.getByLabel('Headers: value 1').fill('support')
  await page.getByRole('button', { name: 'Add a field' }).click()
  await page.getByLabel('Field 1: name').fill('city')
  await create(page)
  await page.getByRole('heading', { name: 'weather' }).waitFor()
  await page.getByText('PUT https://api.example.com/{city}').waitFor()
  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Remove X-Team' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()

  expect(await find('weather')).toMatchObject({
    execute: { url: 'https://api.example.com/{city}', method: 'PUT' },
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  })
  expect((await find('weather')).execute).not.toHaveProperty('headers')
  expect(complaints).toEqual([])
})

test('the form of a tool shows masks instead of credentials, and keeps them', async () => {
  await using service = await startService()
  const execute = { url: service.url, method: 'GET', headers: { Authorization: 'Bearer correct-horse-battery' } }
  const { id } = (await platform.post('/tools', { name: 'crm', parameters: {}, execute })).body
  await using visitor = await at(`/tools/${id}`)
  const { page } = visitor

  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByLabel('Description').fill('Customers')
  const shown = await page.getByLabel('Headers: value 1').inputValue()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved', { exact: true }).waitFor()
  await page.getByLabel('URL').fill('https://elsewhere.example.com')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('must be sent again').first().waitFor()
  await platform.post(`/tools/${id}/call`, { input: {} })

  expect(shown).toBe('[hidden]')
  expect(await page.content()).not.toContain('correct-horse')
  expect(await find('crm')).toMatchObject({ description: 'Customers', execute: { url: service.url } })
  expect(service.received[0]?.headers.authorization).toBe('Bearer correct-horse-battery')
})

test('a platform tool gets the actions that are checked', async () => {
  await using visitor = await at('/tools/new')
  const { page } = visitor

  await page.getByText('Platform', { exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('docs')
  await create(page)
  await page.getByText('must name at least one action').first().waitFor()
  await page.getByLabel('Search actions').fill('search-documents')
  await page.getByRole('checkbox').check()
  await create(page)
  await page.getByRole('heading', { name: 'docs' }).waitFor()

  expect((await find('docs')).actions).toEqual(['search-documents'])
})
