import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { Quartermaster } from '../src/sdk/index.ts'
import { checkPages, faultsOf } from './axe.ts'
import { launchBrowser, soon, Tabs, browserTest as test } from './browser.ts'
import { adminKey, type Service, startService } from './kit.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { startUpstream, type TestUpstream } from './upstream.ts'

vi.setConfig({ testTimeout: 90_000 })

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

let tabs: Tabs
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let service: Service
let upstream: TestUpstream
let platform: Running
let qm: Quartermaster
const ids: Record<string, string> = {}

beforeAll(async () => {
  tabs = new Tabs(await launchBrowser())
  folder = await temporaryFolder()
  service = await startService(({ url }) =>
    url.startsWith('/rate')
      ? { status: 404, body: JSON.stringify({ message: 'No rate for XXX: <b>use</b> EUR or USD' }) }
      : undefined,
  )
  upstream = await startUpstream([
    {
      name: 'draw',
      description: 'Draws a picture',
      inputSchema: { type: 'object', properties: {} },
      run: () => ({
        content: [
          { type: 'text', text: 'Here it is.' },
          { type: 'image', data: pixel, mimeType: 'image/png' },
          { type: 'image', data: Buffer.from('<svg onload="x"/>').toString('base64'), mimeType: 'image/svg+xml' },
        ],
      }),
    },
  ])
  platform = await startProcess(folder.path, { QM_ADMIN_KEY: adminKey, QM_EMBEDDINGS: 'off' })
  qm = new Quartermaster({ baseUrl: platform.url, token: adminKey })
  const tool = async (body: object) => (await qm.tools.createTool({ body: body as never })).data?.id ?? ''
  const parameters = { type: 'object', properties: {} }
  ids.rate = await tool({ name: 'rate', parameters, execute: { url: `${service.url}/rate`, method: 'GET' } })
  ids.echo = await tool({ name: 'echo', parameters, execute: { url: service.url } })
  ids.artist = await tool({ name: 'artist', type: 'mcp', mcp: { url: upstream.url } })
  ids.server = (await qm.servers.createServer({ body: { slug: 'front', name: 'Front' } })).data?.id ?? ''
}, 60_000)

afterAll(async () => {
  await tabs?.[Symbol.asyncDispose]()
  await platform?.[Symbol.asyncDispose]()
  await service?.[Symbol.asyncDispose]()
  await upstream?.[Symbol.asyncDispose]()
  await folder?.[Symbol.asyncDispose]()
})

const at = (path: string, key?: string) => tabs.open(`${platform.url}${path}`, key)

describe('the output of a tool', () => {
  test('shows images, shows anything else as text, and the whole result as JSON', async () => {
    await using visitor = await at(`/tools/${ids.artist}`)
    const { page, complaints } = visitor

    await page.getByRole('button', { name: 'Run', exact: true }).click()

    const image = page.getByRole('img', { name: 'Returned by the tool' })
    await image.waitFor()
    expect(await image.count()).toBe(1)
    await soon(() => image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth)).toBe(1)
    await page.getByText('Here it is.').waitFor()
    await page.getByText('image/svg+xml').waitFor()
    await page.getByRole('button', { name: 'Show as JSON' }).click()
    await page.getByText(pixel).waitFor()
    await page.getByRole('link', { name: 'Call history' }).click()
    await page.getByRole('link', { name: 'artist:draw' }).click()
    await image.waitFor()
    expect(complaints).toEqual([])
  })

  test('shows the error response of the endpoint as text', async () => {
    await using visitor = await at(`/tools/${ids.rate}`)
    const { page, complaints } = visitor

    await page.getByRole('button', { name: 'Run', exact: true }).click()

    const answer = page.getByRole('region', { name: 'Tool response' })
    await answer.getByText('No rate for XXX: <b>use</b> EUR or USD').waitFor()
    await answer.getByText('(HTTP 404)').waitFor()
    await page.getByRole('link', { name: 'Call history' }).click()
    await page.getByRole('link', { name: 'tools:rate' }).first().click()
    await answer.getByText('No rate for XXX: <b>use</b> EUR or USD').waitFor()
    expect(complaints).toEqual([])
  })

  test('“What the model sees” has the names for agents and for MCP clients', async () => {
    await using visitor = await at(`/tools/${ids.artist}?tab=model`)
    const { page } = visitor

    const names = page.getByRole('heading', { level: 2 }).filter({ hasText: 'artist_draw' })
    await soon(() => names.innerText()).toMatch(/Agents\s+artist_draw\s+MCP clients\s+artist_draw_action/)
  })
})

describe('the call log', () => {
  test('can be searched, cleared of filters, and exported with its filters', async () => {
    await qm.tools.callTool({ path: { tool_id: ids.echo ?? '' }, body: {} })
    await qm.tools.callTool({ path: { tool_id: ids.rate ?? '' }, body: {} })
    await using visitor = await at('/calls')
    const { page, complaints } = visitor
    const rows = page.getByRole('list', { name: 'Calls' }).getByRole('listitem')
    await rows.filter({ hasText: 'tools:echo' }).first().waitFor()
    expect(await page.getByLabel('Surface').locator('option').allTextContents()).not.toContain('xml')

    await page.getByLabel('Search calls').fill('tool_http_error RATE')
    await soon(() => rows.filter({ hasText: 'tools:echo' }).count()).toBe(0)
    await rows.filter({ hasText: 'tools:rate' }).first().waitFor()
    expect(page.url()).toContain('q=')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ])
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n')
    expect(download.suggestedFilename()).toBe('calls.csv')
    expect(lines[0]).toMatch(/^id,created_at/)
    expect(lines.slice(1).every((line) => line.includes('tools:rate'))).toBe(true)
    expect(lines.length).toBeGreaterThan(1)

    await page.getByLabel('Search calls').fill('nothing like this')
    await page.getByText('No calls match these filters.').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).last().click()
    await rows.filter({ hasText: 'tools:echo' }).first().waitFor()
    expect(await page.getByLabel('Search calls').inputValue()).toBe('')

    const { data } = await qm.calls.listCalls({ query: { tool: 'echo' } })
    const id = data?.data[0]?.id ?? ''
    await page.getByLabel('Search calls').fill(id)
    await soon(() => rows.count()).toBe(1)
    expect(await rows.getByRole('link').getAttribute('href')).toBe(`/calls/${id}`)
    expect(complaints).toEqual([])
  })
})

describe('documents and files', () => {
  test('a document is created, found by full-text search, edited and deleted', async () => {
    await using visitor = await at('/documents')
    const { page, complaints } = visitor

    await page.getByRole('link', { name: 'New document' }).click()
    await page.getByLabel('Path').fill('no//path')
    await page.getByLabel('Text').fill('# Refunds\n\nRefunds take two days.')
    await page.getByRole('button', { name: 'Create document' }).click()
    await soon(() => page.getByRole('alert').textContent()).toMatch(/VALIDATION_FAILED.*path/)
    await page.getByLabel('Path').fill('/handbook/refunds.md')
    await page.getByRole('button', { name: 'Create document' }).click()
    await page.getByRole('heading', { name: '/handbook/refunds.md' }).waitFor()
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.locator('.prose').getByRole('heading', { name: 'Refunds' }).waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Text').fill('Refunds take three days.')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()

    await page.getByRole('link', { name: 'Documents' }).click()
    await page.getByLabel('Search documents').fill('three')
    const found = page.getByRole('table', { name: 'Documents found' })
    await found.getByText('Refunds take').waitFor()
    await found.getByRole('link', { name: '/handbook/refunds.md' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete document' }).click()
    await page.getByText('No documents yet').waitFor()
    expect(complaints).toEqual([])
  })

  test('a file is uploaded, shown, replaced, downloaded and deleted', async () => {
    await using visitor = await at('/documents?tab=files')
    const { page, complaints } = visitor

    await page.getByRole('button', { name: 'Upload a file' }).click()
    const dialog = page.getByRole('dialog')
    await dialog
      .getByLabel('File')
      .setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') })
    expect(await dialog.getByLabel('Path').inputValue()).toBe('/dot.png')
    await dialog.getByRole('button', { name: 'Upload' }).click()
    const image = page.getByRole('img', { name: '/dot.png' })
    await soon(() => image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth)).toBe(1)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ])
    expect(readFileSync(await download.path()).toString('base64')).toBe(pixel)

    const { data } = await qm.files.createFile({ body: { path: '/notes.txt', content: 'old <b>text</b>' } })
    await page.goto(`${platform.url}/files/${data?.id}`)
    await page.getByText('old <b>text</b>').waitFor()
    await page
      .getByLabel('New content')
      .setInputFiles({ name: 'x.txt', mimeType: 'text/plain', buffer: Buffer.from('new text') })
    await page.getByText('new text').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete file' }).click()
    await page.getByRole('link', { name: '/dot.png' }).waitFor()
    expect(await page.getByRole('link', { name: '/notes.txt' }).count()).toBe(0)
    expect(complaints).toEqual([])
  })
})

describe('an access policy', () => {
  test('is built from the list of permissions, and its form and its JSON stay in sync', async () => {
    await using visitor = await at('/access/policies/new')
    const { page, complaints } = visitor

    await page.getByLabel('Name').fill('Support')
    await page.getByRole('button', { name: 'Remove servers:UseServer' }).click()
    await page.getByLabel('Search permissions').fill('documents get')
    await page.getByRole('checkbox', { name: 'documents:GetDocument' }).check()
    await page.getByLabel('Resources').fill('qm:*:document:/handbook/*\nqm:*:tool')
    await page.getByRole('button', { name: 'Add a condition' }).click()
    await page.getByLabel('Condition 1: attribute').fill('qm:ResourceTag/team')
    await page.getByLabel('Condition 1: values').fill('support, sales')
    await page.getByRole('button', { name: 'Add a statement' }).click()
    await page.getByLabel('Effect').last().selectOption('Deny')
    await page.getByLabel('Search permissions').last().fill('tools:*')
    await page.getByRole('checkbox', { name: 'tools:*' }).last().check()
    expect(await faultsOf(page)).toEqual([])

    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    const document = JSON.parse(await page.getByLabel('Document').inputValue())
    expect(document).toEqual({
      statement: [
        {
          effect: 'Allow',
          action: ['tools:CallTool', 'documents:GetDocument'],
          resource: ['qm:*:document:/handbook/*', 'qm:*:tool'],
          condition: { StringEquals: { 'qm:ResourceTag/team': ['support', 'sales'] } },
        },
        { effect: 'Deny', action: ['tools:*'], resource: ['*'] },
      ],
    })
    document.statement[1].action = ['tools:DeleteTool']
    await page.getByLabel('Document').fill(JSON.stringify(document))
    await page.getByRole('button', { name: 'Form', exact: true }).click()
    await page.getByRole('button', { name: 'Remove tools:DeleteTool' }).waitFor()
    await page.getByRole('button', { name: 'Create access policy' }).click()

    await page.getByRole('link', { name: 'Support' }).waitFor()
    const { data } = await qm.accessPolicies.listAccessPolicies()
    expect(data?.data.find(({ name }) => name === 'Support')?.document).toEqual(document)
    expect(complaints).toEqual([])
  })

  test('can be selected for a key from a list that is not cut off, with the main button on the right', async () => {
    await using visitor = await at('/access')
    const { page } = visitor

    await page.getByRole('button', { name: 'New key' }).click()
    const dialog = page.getByRole('dialog')
    const list = dialog.getByRole('group', { name: 'Access policies' }).locator('ul')
    await list.getByText('reviewer').waitFor()
    const { scrollHeight, clientHeight } = await list.evaluate((element) => {
      const { scrollHeight, clientHeight } = element as unknown as { scrollHeight: number; clientHeight: number }
      return { scrollHeight, clientHeight }
    })
    expect(scrollHeight).toBe(clientHeight)
    const [cancel, create] = await Promise.all(
      ['Cancel', 'Create key'].map((name) => dialog.getByRole('button', { name }).boundingBox()),
    )
    expect(cancel?.x).toBeLessThan(create?.x ?? 0)
  })
})

test('a mode is created, given to a key, tried in the simulator, changed, and deleted', async () => {
  await using visitor = await at('/access?tab=modes')
  const { page, complaints } = visitor
  const tool = { name: 'refund', parameters: { type: 'object' }, execute: { url: service.url }, level: 'restricted' }
  await qm.tools.createTool({ body: tool as never })

  await page.getByRole('button', { name: 'New mode' }).first().click()
  await page.getByLabel('Name').fill('Support desk')
  await page.getByLabel('Slug').fill('support')
  await page.getByLabel('Restricted').check()
  await page.getByLabel('Destructive').uncheck()
  await page.getByLabel('Tools').fill('tools:*')
  await page.getByRole('button', { name: 'Create mode' }).click()
  await page.getByRole('button', { name: 'Support desk' }).waitFor()

  await page.getByRole('tab', { name: 'API keys' }).click()
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('desk bot')
  await page.getByRole('group', { name: 'Modes' }).getByLabel('Support desk').check()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('row', { name: /desk bot.*mode support/ }).waitFor()

  await page.getByRole('tab', { name: 'Policy simulator' }).click()
  await page.getByLabel('Key or person').selectOption({ label: 'Key: desk bot' })
  await page.getByLabel('Tool', { exact: true }).selectOption({ label: 'refund' })
  await page.getByLabel('Action').selectOption('refund')
  await page.getByRole('button', { name: 'Check access' }).click()
  await page.getByText('The mode "support" does not allow it: it belongs to the group "destructive".').waitFor()

  await page.getByRole('tab', { name: 'Modes' }).click()
  await page.getByRole('button', { name: 'Support desk' }).click()
  await page.getByLabel('Destructive').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('tab', { name: 'Policy simulator' }).click()
  await page.getByLabel('Key or person').selectOption({ label: 'Key: desk bot' })
  await page.getByLabel('Tool', { exact: true }).selectOption({ label: 'refund' })
  await page.getByLabel('Action').selectOption('refund')
  await page.getByRole('button', { name: 'Check access' }).click()
  await page.getByText('runs without approval').waitFor()

  await page.getByRole('tab', { name: 'Modes' }).click()
  await page.getByRole('button', { name: 'Support desk' }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete mode' }).click()
  await page.getByText('No modes').waitFor()
  expect(complaints).toEqual([])
})

test('guides can be read in the dashboard and link to each other', async () => {
  await using visitor = await at('/approvals')
  const { page, complaints } = visitor

  await page.getByRole('link', { name: 'How approvals work' }).click()
  await page.locator('.prose pre').first().waitFor()
  await page.locator('.prose a[href^="/help/"]').first().click()
  await page.locator('.prose').waitFor()
  expect(new URL(page.url()).pathname).toMatch(/^\/help\/[\w-]+$/)
  await page.getByRole('link', { name: 'All guides' }).click()
  await page.getByRole('heading', { name: 'Glossary' }).waitFor()
  await page.goto(`${platform.url}/help/none`)
  await page.getByText('Guide not found').waitFor()
  expect(complaints).toEqual([])
})

test('Enter submits the action search', async () => {
  await using visitor = await at(`/servers/${ids.server}?tab=find`)
  const { page } = visitor

  await page.getByLabel('Request').fill('draw a picture')
  await page.getByLabel('Request').press('Enter')

  await page.getByText('“draw a picture”').waitFor()
})

test('a key bound to a project has no project selector and sees only that project', async () => {
  const { data: other } = await qm.projects.createProject({ body: { name: 'Other' } })
  await qm.documents.createDocument({ body: { path: '/theirs.md', content: 'x', project_id: other?.id ?? '' } })
  const { data } = await qm.apiKeys.createApiKey({
    body: { name: 'bound', project_id: other?.id ?? '', access_policy_ids: ['pol_editor'] },
  })
  await using admin = await at('/documents')
  const choice = admin.page.locator('aside').getByLabel('Project')
  await admin.page.getByText('/theirs.md').waitFor()
  await choice.selectOption({ label: 'default' })
  await soon(() => admin.page.getByText('/theirs.md').count()).toBe(0)
  await choice.selectOption({ label: 'Other' })
  await admin.page.getByText('/theirs.md').waitFor()

  await using bound = await at('/documents', data?.key ?? 'none')
  await bound.page.getByText('/theirs.md').waitFor()
  await bound.page.locator('aside').getByText('Project: Other').waitFor()
  expect(await bound.page.locator('aside').locator('select').count()).toBe(0)
})

test('pages for documents, help and policies pass axe in both themes, and fit a desktop and a phone', async () => {
  const { data: projects } = await qm.projects.listProjects()
  const project_id = projects?.data[0]?.id ?? ''
  const content = '# Refunds\n\nRefunds take **two** days.'
  const document = await qm.documents.createDocument({ body: { path: '/handbook/returns.md', content, project_id } })
  const file = await qm.files.createFile({
    body: { path: '/pixel.png', content: pixel, encoding: 'base64', content_type: 'image/png', project_id },
  })
  await using visitor = await at('/documents')
  const { page, complaints } = visitor

  const faults = await checkPages(
    page,
    [
      ['documents', '/documents'],
      ['document', `/documents/${document.data?.id}`],
      ['files', '/documents?tab=files'],
      ['file', `/files/${file.data?.id}`],
      ['help', '/help'],
      ['guide', '/help/approvals'],
      ['policy-new', '/access/policies/new'],
      ['modes', '/access?tab=modes'],
      ['simulator', '/access?tab=check'],
    ].map(([name = '', path]) => ({ name, url: `${platform.url}${path}` })),
  )

  expect(faults).toEqual({})
  expect(complaints).toEqual([])
}, 120_000)
