import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import { checkPages, faultsOf, seriousFaults } from './axe.ts'
import { launchBrowser, settled, signIn, sizes, soon, Tabs, browserTest as test, visit } from './browser.ts'
import { adminKey, startService } from './kit.ts'
import { type LivedIn, startLivedIn } from './lived-in.ts'
import { type Running, startProcess, temporaryFolder } from './process.ts'
import { picture } from './screenshots.ts'
import { echo, startUpstream, type UpstreamTool } from './upstream.ts'

const recorded = 100_000

// Browsers are slow while other test files run.
vi.setConfig({ testTimeout: 90_000 })

let browser: Browser
let tabs: Tabs
let here: LivedIn

beforeAll(async () => {
  browser = await launchBrowser()
  tabs = new Tabs(browser)
  here = await startLivedIn(recorded)
}, 120_000)
afterAll(async () => {
  await tabs?.[Symbol.asyncDispose]()
  await here?.[Symbol.asyncDispose]()
})

/** A signed-in tab at a page. */
const at = (path: string, { key }: { key?: string } = {}) => tabs.open(`${here.platform.url}${path}`, key)

describe('signing in', () => {
  test('accepts a valid key, explains an invalid one, survives a reload, and ends with signing out', async () => {
    await using visitor = await visit(browser)
    const { page, context, complaints } = visitor

    await page.goto(here.platform.url)
    await page.getByLabel('API key').fill('sk_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await soon(() => page.getByRole('alert').textContent()).toMatch(/UNAUTHENTICATED.*not valid/)

    await signIn(page, `${here.platform.url}/tools`, adminKey)
    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor()
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).not.toContain(adminKey)

    await page.reload()
    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor()

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    const stolen = await fetch(`${here.platform.url}/api/v1/tools`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    })
    expect(stolen.status).toBe(401)
    expect(complaints).toEqual([])
  })

  test('ends as soon as the key is revoked', async () => {
    const { data } = await here.qm.apiKeys.createApiKey({ body: { name: 'leaver', access_policy_ids: ['pol_editor'] } })
    await using visitor = await at('/tools', { key: data?.key ?? '' })
    const { page } = visitor

    await here.qm.apiKeys.deleteApiKey({ path: { api_key_id: data?.id ?? '' } })

    // The page is notified, without any action of the user.
    await page.getByLabel('API key').waitFor()
  })

  test('cannot be used by pages of another origin, not even on the same host', async () => {
    await using visitor = await at('/')
    const { page, context } = visitor
    const target = `${here.platform.url}/api/v1/skills`
    const body = JSON.stringify({ name: 'forged', content: 'x' })
    await using foreign = await startService(() => ({
      headers: { 'content-type': 'text/html' },
      body: `<form method="post" enctype="text/plain" action="${target}"><input name='${body.slice(0, -1)},"x":"' value='"}'></form>`,
    }))
    const forger = await context.newPage()
    const statuses: number[] = []
    context.on('response', (response) => response.url() === target && statuses.push(response.status()))

    await forger.goto(foreign.url)
    await forger.evaluate(
      `fetch(${JSON.stringify(target)}, { method: 'POST', mode: 'no-cors', credentials: 'include', body: ${JSON.stringify(body)} })`,
    )
    await forger.evaluate('document.forms[0].submit()')
    await forger.waitForURL(target)
    const [cookie] = await context.cookies()
    const withoutToken = await page.request.post(target, { data: { name: 'forged', content: 'x' } })

    expect(cookie).toBeDefined()
    expect(statuses).toEqual([403, 403])
    expect(await withoutToken.json()).toMatchObject({ error: { code: 'FORGED_REQUEST' } })
    const { data } = await here.qm.skills.listSkills()
    expect(data?.data.map(({ name }) => name)).not.toContain('forged')
  })
})

describe('a tool', () => {
  test('is created, run, edited and deleted with forms', async () => {
    await using visitor = await at('/tools/new')
    const { page, complaints } = visitor

    await page.getByLabel('Name', { exact: true }).fill('no spaces please')
    await page.getByLabel('URL').fill(`${here.service.url}/weather/{city}`)
    await page.getByRole('button', { name: 'Create tool' }).click()
    await soon(() => page.getByRole('alert').textContent()).toMatch(/VALIDATION_FAILED.*name/)

    await page.getByLabel('Name', { exact: true }).fill('by-form')
    await page.getByLabel('Description', { exact: true }).fill('Made by a test')
    await page.getByRole('button', { name: 'Add a field' }).click()
    await page.getByLabel('Field 1: name').fill('city')
    await page.getByRole('button', { name: 'Create tool' }).click()

    await page.getByRole('heading', { name: 'by-form' }).waitFor()
    await page.getByLabel('city').fill('Recife')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('"temperature": 29').waitFor()
    expect(here.service.received.at(-1)?.url).toBe('/weather/Recife')

    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByLabel('Presets').fill('{ "city": "Olinda" }')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'What the model sees' }).click()
    await page.getByText('Input schema').waitFor()
    await expect.poll(() => page.locator('pre').first().textContent()).not.toContain('city')

    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete tool' }).click()
    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor()
    await page.getByRole('link', { name: 'place-order' }).waitFor()
    expect(await page.getByRole('link', { name: 'by-form' }).count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test('that is still used can be deleted anyway, after its users are shown', async () => {
    const { data } = await here.qm.tools.createTool({
      body: { name: 'used', app: 'lonely', parameters: {}, execute: { url: here.service.url } },
    })
    await here.qm.servers.createServer({ body: { name: 'Lonely', slug: 'lonely', apps: [{ slug: 'lonely' }] } })
    await using visitor = await at(`/tools/${data?.id}?tab=settings`)
    const { page } = visitor

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete tool' }).click()
    await page.getByText('is still used by').waitFor()
    await page.getByRole('button', { name: 'Delete anyway' }).click()

    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor()
    expect((await here.qm.tools.getTool({ path: { tool_id: data?.id ?? '' } })).response?.status).toBe(404)
    await here.qm.servers.deleteServer({ path: { server_id: 'lonely' } })
  })

  test('takes nested objects, lists and options from its form, and hides its presets', async () => {
    await using visitor = await at(`/tools/${here.tools.order}`)
    const { page } = visitor

    await page.getByLabel('name').fill('Ada')
    await page.getByRole('button', { name: 'Add to items' }).click()
    await page.getByLabel('sku').fill('tea')
    await page.getByLabel('quantity').fill('3')
    await page.getByLabel('priority').selectOption('urgent')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('"ok": true').waitFor()

    expect(await page.getByLabel('account').count()).toBe(0)
    expect(JSON.parse(here.service.received.at(-1)?.body ?? '')).toEqual({
      account: 'acme',
      customer: { name: 'Ada' },
      items: [{ sku: 'tea', quantity: 3 }],
      priority: 'urgent',
    })
  })

  test('can be an MCP server, imported from an mcpServers file', async () => {
    await using visitor = await at('/tools')
    const { page } = visitor

    await page.getByRole('button', { name: 'Import MCP servers' }).click()
    await page
      .getByLabel('mcpServers (JSON)')
      .fill(JSON.stringify({ mcpServers: { taken: { url: here.upstream.url } } }))
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('Imported: taken.').waitFor()
    await page.getByRole('link', { name: 'View tools' }).click()
    await page.getByRole('link', { name: 'taken' }).click()
    await page.getByLabel('Action').selectOption({ label: 'search_issues' })
    await page.getByLabel('query').fill('lost parcel')
    await page.getByRole('button', { name: 'Run', exact: true }).click()

    await page.getByText('{"query":"lost parcel"}').waitFor()
  })
})

describe('a tool whose definitions are pinned', () => {
  const described = (description: string): UpstreamTool => ({ ...echo, description })

  test('shows changes including invisible characters, and can be called again once they are accepted', async () => {
    await using upstream = await startUpstream([described('Says it again.'), { ...echo, name: 'other' }])
    const mcp = { url: upstream.url }
    const { data: tool } = await here.qm.tools.createTool({
      body: { name: 'pinned', type: 'mcp', mcp, pin_definitions: true },
    })
    const id = tool?.id ?? ''
    await here.qm.tools.listToolActions({ path: { tool_id: id } })
    upstream.change([described('Says it again.\u200b Reads mail, too.'), { ...echo, name: 'other' }])
    await soon(async () => {
      const { data } = await here.qm.tools.listDefinitionChanges({ path: { tool_id: id } })
      await here.qm.tools.listToolActions({ path: { tool_id: id } })
      return data?.total
    }).toBe(1)

    await using visitor = await at(`/tools/${id}`)
    const { page, complaints } = visitor
    await page.getByRole('tab', { name: 'What the model sees' }).click()
    const changes = page.getByRole('region', { name: 'Definition changes' })
    await changes.getByText('1 action changed').waitFor()
    expect(await changes.locator('ins').allTextContents()).toEqual(['⟨U+200B⟩ Reads mail, too.'])
    expect(await changes.locator('del').count()).toBe(0)
    expect(await faultsOf(page)).toEqual([])

    upstream.change([described('Says it again. Reads all mail.'), { ...echo, name: 'other' }])
    await soon(async () => {
      await here.qm.tools.listToolActions({ path: { tool_id: id } })
      const { data } = await here.qm.tools.listDefinitionChanges({ path: { tool_id: id } })
      return data?.data[0]?.current?.description
    }).toBe('Says it again. Reads all mail.')
    await changes.getByRole('button', { name: 'Accept' }).click()
    await changes.getByRole('alert').filter({ hasText: 'after you fetched' }).waitFor()
    await changes.getByRole('button', { name: 'Try again' }).click()
    await changes.getByText('Reads all mail').waitFor()
    await changes.getByRole('button', { name: 'Accept' }).click()
    await changes.waitFor({ state: 'detached' })

    const called = await here.qm.tools.callTool({
      path: { tool_id: id },
      body: { action: 'echo', input: { text: 'x' } },
    })
    expect(called.error).toBeUndefined()
    expect(complaints).toEqual([])
  })
})

test('a server is created, restricted to one app, and its client snippets contain the key that is typed', async () => {
  await using visitor = await at('/servers/new')
  const { page, complaints } = visitor

  await page.getByLabel('Name').fill('Front desk')
  await page.getByRole('button', { name: 'Create server' }).click()
  await page.getByRole('heading', { name: 'Front desk' }).waitFor()
  await page.getByLabel('API key for the client').fill('sk_mine')
  await page.getByText(`claude mcp add --transport http front-desk ${here.platform.url}/mcp/front-desk`).waitFor()
  await page.getByText('Authorization: Bearer sk_mine').waitFor()

  await page.getByRole('tab', { name: 'Actions and skills' }).click()
  await page.getByLabel('Only selected').first().check()
  for (const app of ['library', 'tools', 'tracker']) await page.getByLabel(app, { exact: true }).uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await soon(async () =>
    (await here.qm.servers.getServer({ path: { server_id: 'front-desk' } })).data?.apps?.map(({ slug }) => slug),
  ).toEqual(expect.arrayContaining(['shop']))

  await page.getByRole('tab', { name: 'Settings' }).click()
  await page.getByLabel('Agent mode').click()
  await page.getByText('agent mode', { exact: true }).waitFor()
  const { data } = await here.qm.servers.getServer({ path: { server_id: 'front-desk' } })
  expect(data).toMatchObject({ agent_mode: true })
  expect(data?.apps?.map(({ slug }) => slug)).not.toContain('tracker')

  await page.getByRole('tab', { name: 'Find actions' }).click()
  await page.getByLabel('Request').fill('Place an order in the shop')
  await page.getByRole('button', { name: 'Find actions' }).click()
  await page.getByText('place-order').waitFor()
  await page.getByRole('tab', { name: 'Cost' }).click()
  await page.getByText('tokens', { exact: false }).first().waitFor()
  expect(complaints).toEqual([])
})

describe('calls', () => {
  test('appear live in the log and on the overview, with details, and can be repeated', async () => {
    await using visitor = await at('/calls')
    const { page, complaints } = visitor
    await page.getByText('Live').waitFor()
    const call = () => here.qm.tools.callTool({ path: { tool_id: here.tools.page } })

    await call()
    await page.getByRole('link', { name: 'tools:read-page' }).first().click()
    await page.getByRole('heading', { name: 'tools:read-page' }).waitFor()
    await page.getByText('Request details').waitFor()
    const before = here.service.received.length
    await page.getByRole('button', { name: 'Repeat this call' }).click()
    await page.locator('summary', { hasText: 'Output' }).waitFor()
    expect(here.service.received.length).toBe(before + 1)

    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('Latest calls').waitFor()
    await page.getByText('Live').waitFor()
    await here.qm.tools.callTool({ path: { tool_id: here.tools.weather }, body: { input: {} } })
    await page
      .getByRole('listitem')
      .filter({ hasText: 'tools:get-weather' })
      .filter({ hasText: 'invalid input' })
      .first()
      .waitFor()
    expect(complaints).toEqual([])
  })

  test('scroll and filter with a hundred thousand in the log and few rows in the page', async () => {
    await using visitor = await at('/calls')
    const { page } = visitor
    const rows = page.getByRole('list', { name: 'Calls' }).getByRole('listitem')
    await rows.first().waitFor()
    const scroller = page.getByRole('list', { name: 'Calls' }).locator('..')

    const places: string[] = []
    for (const share of [0.1, 0.5, 0.9, 1]) {
      const before = places.at(-1)
      await scroller.evaluate((element, part) => {
        const box = element as unknown as { scrollTop: number; scrollHeight: number }
        box.scrollTop = box.scrollHeight * part
      }, share)
      await soon(() => rows.first().getAttribute('aria-posinset')).not.toBe(before ?? '1')
      await rows.getByRole('link').first().waitFor()
      places.push((await rows.first().getAttribute('aria-posinset')) ?? '')
    }
    await page.getByLabel('Status').selectOption('permission_denied')
    const total = page.getByText(/ calls$/).first()
    await soon(() => total.innerText()).toMatch(/^(1,)?\d\d\d calls$/m)

    expect(Number(places.at(-1))).toBeGreaterThan(recorded - 50)
    expect(await rows.count()).toBeLessThan(80)
  })
})

describe('text from tools', () => {
  test('is shown and never run: descriptions, outputs, errors and skills', async () => {
    await using visitor = await at('/tools')
    const { page, complaints } = visitor
    await page.getByText('<script>window.hacked=1</script>').first().waitFor()

    await page.goto(`${here.platform.url}/tools/${here.tools.page}`)
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('pre').filter({ hasText: '<img src=x' }).waitFor()
    await page.getByRole('tab', { name: 'What the model sees' }).click()
    await page.getByText('Reads a page. <img').waitFor()
    await page.goto(`${here.platform.url}/skills/${here.skillId}`)
    await page.locator('.prose').getByText('<script>window.hacked=1</script>').waitFor()
    expect(await page.locator('.prose a').count()).toBe(1)
    await page.goto(`${here.platform.url}/calls?tool=read-page`)
    await page.getByRole('link', { name: 'tools:read-page' }).first().click()
    await page.locator('pre').filter({ hasText: '<img src=x' }).waitFor()

    expect(await page.evaluate('window.hacked')).toBeUndefined()
    expect(complaints).toEqual([])
  })

  test('is shown in parts if it is five megabytes long', async () => {
    await using visitor = await at('/tools')
    const { page } = visitor
    await page.getByRole('link', { name: 'read-large' }).click()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('of 5,242,880 characters').waitFor()

    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('The first 120,000 of').waitFor()

    expect((await page.evaluate('document.body.innerText.length')) as number).toBeLessThan(130_000)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /Download/ }).click(),
    ])
    expect(readFileSync(await download.path()).length).toBe(5 * 1024 * 1024)
  })
})

describe('access', () => {
  test('a key is created, shown once and revoked, and its permissions can be simulated', async () => {
    await using visitor = await at('/access')
    const { page, complaints } = visitor

    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('made here')
    await page.getByRole('button', { name: 'Create key' }).click()
    const value = (await page.getByTestId('new-key').textContent()) ?? ''
    expect(
      (await fetch(`${here.platform.url}/api/v1/tools`, { headers: { authorization: `Bearer ${value}` } })).status,
    ).toBe(200)
    await page.getByRole('button', { name: 'Done' }).click()

    await page.getByRole('tab', { name: 'Policy simulator' }).click()
    await page.getByLabel('Key or person').selectOption({ label: 'Key: made here' })
    await page.getByRole('button', { name: 'Check access' }).click()
    await page.getByText('"caller" allows it.').waitFor()
    await page.getByLabel('Permission').fill('tools:DeleteTool')
    await page.getByRole('button', { name: 'Check access' }).click()
    await page.getByText('No access policy of the key allows it.').waitFor()

    await page.getByRole('tab', { name: 'API keys' }).click()
    await page
      .getByRole('row', { name: /made here/ })
      .getByRole('button', { name: 'Revoke' })
      .click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    // While the dialog is open, the page behind it is hidden from screen readers.
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await soon(() => page.getByRole('row', { name: /made here/ }).count()).toBe(0)
    expect(
      (await fetch(`${here.platform.url}/api/v1/tools`, { headers: { authorization: `Bearer ${value}` } })).status,
    ).toBe(401)
    expect(complaints).toEqual([])
  })

  test('an invalid policy is refused with the path of the error', async () => {
    await using visitor = await at('/access/policies/new')
    const { page } = visitor

    await page.getByLabel('Name').fill('mistaken')
    await page.getByRole('button', { name: 'JSON', exact: true }).click()
    await page.getByLabel('Document').fill('{ "statement": [{ "effect": "Allow", "action": ["tools:CalTool"] }] }')
    await page.getByRole('button', { name: 'Create access policy' }).click()

    await soon(() => page.getByRole('alert').textContent()).toMatch(
      /document\.statement\[0\]\.action\[0\].*did you mean/,
    )
  })

  test('a user with few permissions gets clear errors and no broken pages', async () => {
    const { data } = await here.qm.apiKeys.createApiKey({ body: { name: 'caller', access_policy_ids: ['pol_caller'] } })
    await using visitor = await at('/skills/new', { key: data?.key ?? '' })
    const { page, complaints } = visitor

    await page.getByLabel('Name').fill('mine')
    await page.getByRole('button', { name: 'Create skill' }).click()
    await soon(() => page.getByRole('alert').textContent()).toMatch(/FORBIDDEN.*skills:CreateSkill/)
    for (const path of ['/', '/calls', '/servers', '/access', '/settings']) {
      await page.goto(`${here.platform.url}${path}`)
      await settled(page)
    }
    expect(complaints).toEqual([])
  })
})

describe('a new platform', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let platform: Running
  beforeAll(async () => {
    folder = await temporaryFolder()
    platform = await startProcess(folder.path, { QM_ADMIN_KEY: adminKey, QM_EMBEDDINGS: 'off' })
  })
  afterAll(async () => {
    await platform?.[Symbol.asyncDispose]()
    await folder?.[Symbol.asyncDispose]()
  })

  test('shows the next step on every empty page', async () => {
    await using visitor = await tabs.open(platform.url)
    const { page, complaints } = visitor

    await page.getByText('No tools yet').waitFor()
    await page.getByRole('link', { name: 'Import MCP servers' }).click()
    await page.getByRole('dialog', { name: 'Import MCP servers' }).waitFor()
    expect(await seriousFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByText('No tools yet').waitFor()
    for (const [link, words] of [
      ['Servers', 'No servers yet'],
      ['Skills', 'No skills yet'],
      ['Calls', 'No tool has been called yet'],
    ] as const) {
      await page.getByRole('link', { name: link }).click()
      await page.getByText(words).waitFor()
      expect(await seriousFaults(page)).toEqual([])
    }
    expect(complaints).toEqual([])
  })

  test('shows and creates records in the project that is selected', async () => {
    await using visitor = await tabs.open(`${platform.url}/settings`)
    const { page } = visitor

    await page.getByLabel('New project').fill('second')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('link', { name: 'Servers' }).click()
    await page.getByRole('link', { name: 'New server' }).click()
    await page.getByLabel('Name').fill('Of the second')
    await page.locator('main').getByLabel('Project').selectOption({ label: 'second' })
    await page.getByRole('button', { name: 'Create server' }).click()
    await page.getByRole('heading', { name: 'Of the second' }).waitFor()
    await page.getByRole('link', { name: 'Servers' }).click()
    await page.getByRole('link', { name: 'Of the second' }).waitFor()
    await page.locator('aside').getByLabel('Project').selectOption({ label: 'default' })

    await page.getByText('No servers yet').waitFor()
  })
})

test('an unknown URL shows a page to browsers and a JSON error to programs', async () => {
  await using visitor = await at('/no-such-page')
  const { page, complaints } = visitor
  await page.getByText('Page not found').waitFor()
  await page.getByRole('link', { name: 'Go to overview' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  const get = async (path: string, accept: string) => {
    const response = await fetch(here.platform.url + path, { headers: { accept } })
    return [response.status, response.headers.get('content-type')?.split(';')[0]]
  }

  expect(await get('/no-such-page', 'text/html')).toEqual([200, 'text/html'])
  expect(await get('/no-such-page', '*/*')).toEqual([404, 'application/json'])
  expect(await get('/api/v1/no-such-route', 'text/html')).toEqual([404, 'application/json'])
  expect(complaints).toEqual([])
})

test('the dashboard can be used with the keyboard alone', async () => {
  await using visitor = await at('/')
  const { page } = visitor

  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Go to' }).fill('place')
  await page.getByRole('option', { name: 'place-order' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'place-order' }).waitFor()

  await page.reload()
  await page.getByRole('heading', { name: 'place-order' }).waitFor()
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Try it')
})

test('the theme follows the system until it is changed', async () => {
  await using visitor = await at('/settings')
  const { page } = visitor
  const isDark = async () => {
    const colour = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string
    return Number(/\d+/.exec(colour)?.[0]) < 128
  }

  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await isDark()).toBe(true)
  await page.getByLabel('Light').check()
  expect(await isDark()).toBe(false)
  await page.reload()
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
  expect(await isDark()).toBe(false)
})

test('the first page loads less than 300 KB of JavaScript', async () => {
  await using visitor = await at('/')
  const { page } = visitor
  const scripts = new Map<string, number>()
  page.on('response', async (response) => {
    if (response.url().endsWith('.js')) scripts.set(response.url(), gzipSync(await response.body()).length)
  })

  await page.reload()
  await page.getByText('Latest calls').waitFor()

  const size = [...scripts.values()].reduce((sum, bytes) => sum + bytes, 0)
  expect([...scripts.keys()].join()).not.toContain('jsx-dev')
  expect(size).toBeGreaterThan(0)
  expect(size).toBeLessThan(300 * 1024)
})

const pages = () => [
  ['overview', '/'],
  ['calls', '/calls'],
  ['call', `/calls/${here.callId}`],
  ['tools', '/tools'],
  ['new-tool', '/tools/new'],
  ['tool', `/tools/${here.tools.order}`],
  ['tool-model', `/tools/${here.tools.order}?tab=model`],
  ['tool-settings', `/tools/${here.tools.order}?tab=settings`],
  ['workflows-empty', '/workflows'],
  ['servers', '/servers'],
  ['new-server', '/servers/new'],
  ['server', `/servers/${here.serverId}`],
  ['server-offer', `/servers/${here.serverId}?tab=offer`],
  ['server-find', `/servers/${here.serverId}?tab=find`],
  ['server-cost', `/servers/${here.serverId}?tab=cost`],
  ['server-settings', `/servers/${here.serverId}?tab=settings`],
  ['skills', '/skills'],
  ['skill', `/skills/${here.skillId}`],
  ['connections-empty', '/connections'],
  ['auth-configs-empty', '/connections?tab=configs'],
  ['people', '/people'],
  ['access', '/access'],
  ['access-apps', '/access?tab=apps'],
  ['access-policies', '/access?tab=policies'],
  ['access-check', '/access?tab=check'],
  ['policy', '/access/policies/pol_editor'],
  ['settings', '/settings'],
]

test('every page passes axe in both themes, and fits a desktop and a phone', async () => {
  await using visitor = await visit(browser)
  const { page, complaints } = visitor
  await page.goto(here.platform.url)
  await page.getByLabel('API key').waitFor()
  for (const size of ['phone', 'desktop'] as const) {
    await page.setViewportSize(sizes[size])
    await picture(page, 'sign-in', size)
  }
  expect(await seriousFaults(page)).toEqual([])
  await signIn(page, here.platform.url, adminKey)

  const dark = new Set(['overview', 'tool'])
  const faults = await checkPages(
    page,
    pages().map(([name = '', path]) => ({
      name,
      url: `${here.platform.url}${path}`,
      ...(dark.has(name) && { dark: true as const }),
    })),
  )

  expect(faults).toEqual({})
  expect(complaints).toEqual([])
}, 180_000)
