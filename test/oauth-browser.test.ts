import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { seriousFaults } from './axe.ts'
import { browserTest, launchBrowser, sizes, soon, visit } from './browser.ts'
import { startListening } from './clients.ts'
import { startCompanyIdp } from './company-idp.ts'
import { adminKey, startService } from './kit.ts'
import { authorizeUrl, pkce, register } from './oauth-kit.ts'
import { picture } from './screenshots.ts'
import { password, person } from './signing-in.ts'

/** Real clients and a real browser against the built-in authorization server. */

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser().catch(() => undefined as unknown as Browser)
})
afterAll(() => browser?.close())

/** A platform with one tool, at the server "desk". */
async function open() {
  const service = await startService()
  const platform = await startListening()
  await platform.post('/tools', { name: 'echo', execute: { url: service.url }, parameters: { type: 'object' } })
  await platform.post('/servers', { slug: 'desk', name: 'Help desk' })
  return {
    platform,
    desk: `${platform.url}/mcp/desk`,
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
    },
  }
}

/** The page on loopback that an app waits for the browser on. */
async function startCallback() {
  let arrive: (url: URL) => void = () => {}
  const arrived = new Promise<URL>((resolve) => {
    arrive = resolve
  })
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>You can close this page</h1>')
    if (request.url?.startsWith('/callback')) arrive(new URL(request.url, 'http://127.0.0.1'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    arrived,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function signInByKey(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('API key').fill(adminKey)
  await page.getByRole('button', { name: 'Sign in' }).first().click()
  await page.getByRole('button', { name: 'Allow' }).waitFor()
}

describe('in a browser,', () => {
  browserTest('the MCP SDK’s client connects with nothing but the URL of a server', async () => {
    await using here = await open()
    await using callback = await startCallback()
    await using visitor = await visit(browser)
    const opened: URL[] = []
    const kept: Record<string, unknown> = {}
    const authProvider: OAuthClientProvider = {
      redirectUrl: callback.url,
      clientMetadata: { client_name: 'SDK client', redirect_uris: [callback.url] },
      clientInformation: () => kept.client as never,
      saveClientInformation: (client) => {
        kept.client = client
      },
      tokens: () => kept.tokens as never,
      saveTokens: (tokens) => {
        kept.tokens = tokens
      },
      redirectToAuthorization: (url) => void opened.push(url),
      saveCodeVerifier: (verifier) => {
        kept.verifier = verifier
      },
      codeVerifier: () => kept.verifier as string,
    }
    const transport = () => new StreamableHTTPClientTransport(new URL(here.desk), { authProvider })
    const first = transport()
    await expect(new Client({ name: 'tester', version: '1' }).connect(first)).rejects.toThrow(/unauthorized/i)

    await signInByKey(visitor.page, opened[0]?.href ?? '')
    await visitor.page.getByRole('button', { name: 'Allow' }).click()
    const back = await callback.arrived
    await visitor.page.getByText('You can close this page').waitFor()
    await first.finishAuth(back.searchParams)
    const client = new Client({ name: 'tester', version: '1' })
    await client.connect(transport())
    const { tools } = await client.listTools()
    const result = await client.callTool({ name: 'tools_echo_action', arguments: {} })
    await client.close()

    expect(tools.map(({ name }) => name)).toEqual(['tools_echo_action'])
    expect(JSON.stringify(result)).toContain('ok')
    expect(visitor.complaints).toEqual([])
  })

  browserTest('mcp-remote connects a stdio client', { timeout: 60_000 }, async () => {
    await using here = await open()
    await using visitor = await visit(browser)
    const home = await mkdtemp(join(tmpdir(), 'quartermaster-remote-'))
    const path = new URL('../node_modules/mcp-remote/dist/proxy.js', import.meta.url).pathname
    const child = spawn(process.execPath, [path, here.desk, '--transport', 'http-only'], {
      // Without a browser of its own to open.
      env: { PATH: '/nowhere', HOME: home, MCP_REMOTE_CONFIG_DIR: home },
    })
    try {
      let said = ''
      let answered = ''
      child.stderr.on('data', (chunk) => {
        said += chunk
      })
      child.stdout.on('data', (chunk) => {
        answered += chunk
      })
      const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
      const url = () => /(http:\/\/127\.0\.0\.1:\d+\/oauth\/authorize\?\S+)/.exec(said)?.[1]
      const clientInfo = { name: 'tester', version: '1' }
      send({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
      await soon(url).toBeDefined()

      await signInByKey(visitor.page, url() ?? '')
      await visitor.page.getByRole('button', { name: 'Allow' }).click()
      await soon(() => answered).toContain('"id":1')
      send({ method: 'notifications/initialized' })
      send({ id: 2, method: 'tools/call', params: { name: 'tools_echo_action', arguments: {} } })
      await soon(() => answered).toContain('"id":2')

      expect(answered).toContain('ok')
      expect(visitor.complaints).toEqual([])
    } finally {
      child.kill()
      await rm(home, { recursive: true, force: true })
    }
  })

  browserTest('the MCP inspector connects', { timeout: 60_000 }, async () => {
    await using here = await open()
    await using visitor = await visit(browser)
    await using port = await startCallback()
    const home = await mkdtemp(join(tmpdir(), 'quartermaster-inspector-'))
    const path = '../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
    const args = ['--web', '--transport', 'http', '--server-url', here.desk]
    await port[Symbol.asyncDispose]()
    const child = spawn(process.execPath, [new URL(path, import.meta.url).pathname, ...args], {
      env: { PATH: '/nowhere', HOME: home, CLIENT_PORT: new URL(port.url).port, MCP_AUTO_OPEN_ENABLED: 'false' },
    })
    try {
      let said = ''
      child.stdout.on('data', (chunk) => {
        said += chunk
      })
      const url = () => /running at:\s+(http:\S+)/.exec(said)?.[1]
      await soon(url).toBeDefined()
      const { page } = visitor
      await page.goto(url() ?? '')
      await page.getByRole('switch').click({ force: true })

      await page.getByLabel('API key').fill(adminKey)
      await page.getByRole('button', { name: 'Sign in' }).first().click()
      await page.getByRole('button', { name: 'Allow' }).click()
      const grants = async () => (await here.platform.get('/oauth-grants')).body.data
      await soon(grants).toMatchObject([{ resource: here.desk, last_used_at: expect.any(String) }])
      await page.getByText('Connected', { exact: true }).waitFor()
      await page.getByText('Tools', { exact: true }).first().click()
      await page.getByText('tools_echo_action').first().waitFor()
    } finally {
      child.kill()
      await rm(home, { recursive: true, force: true })
    }
  })

  browserTest('an app with a URL scheme of its own gets its code past the content security policy', async () => {
    await using here = await open()
    await using visitor = await visit(browser)
    const redirect = 'cursor://anysphere.cursor-retrieval/oauth/callback'
    const { client_id: clientId = '' } = await register(here.platform.url, {
      ...{ client_name: 'Cursor', application_type: 'web', redirect_uris: [redirect] },
    })
    const flow = { issuer: here.platform.url, clientId, redirect, resource: here.desk }
    await signInByKey(visitor.page, authorizeUrl(flow, pkce().challenge))
    expect(await visitor.page.getByText('the app that opens cursor: links').count()).toBe(1)

    const leaving = visitor.page.waitForEvent('requestfailed', (request) => request.url().startsWith('cursor:'))
    await visitor.page.getByRole('button', { name: 'Allow' }).click()
    const request = await leaving

    expect(request.url()).toMatch(/^cursor:\/\/anysphere\.cursor-retrieval\/oauth\/callback\?code=/)
    // No program on this machine opens such links. A policy that forbids the redirect would fail otherwise.
    expect(request.failure()?.errorText).not.toMatch(/csp|blocked/i)
    expect(visitor.complaints.filter((one) => /Content Security Policy/i.test(one))).toEqual([])
  })

  browserTest('a person signs in with a password or a company account, and the record names them', async () => {
    await using here = await open()
    const { platform } = here
    await using idp = await startCompanyIdp(`${platform.url}/api/v1/dashboard/sso/callback`)
    await platform.post('/sign-in-providers', { name: 'Acme', issuer: idp.issuer, ...idp.client })
    await person(platform, 'ada@example.com', { name: 'Ada', role: 'editor' })
    await platform.post('/users', { email: 'rita@example.com', name: 'Rita', role: 'editor' })
    idp.accounts.set('rita', { sub: 'r', email: 'rita@example.com', email_verified: true, name: 'Rita' })
    await using callback = await startCallback()
    const { client_id: clientId = '' } = await register(platform.url, {
      client_name: 'Editor',
      redirect_uris: [callback.url],
    })
    const flow = { issuer: platform.url, clientId, redirect: callback.url, resource: here.desk }
    await using ada = await visit(browser)
    await using rita = await visit(browser)

    await ada.page.goto(authorizeUrl(flow, pkce().challenge))
    await ada.page.getByLabel('Email address').fill('ada@example.com')
    await ada.page.getByLabel('Password').fill(password)
    await ada.page.getByRole('button', { name: 'Sign in' }).first().click()
    await ada.page.getByRole('button', { name: 'Allow' }).click()
    await ada.page.getByText('You can close this page').waitFor()
    await rita.page.goto(authorizeUrl(flow, pkce().challenge))
    await rita.page.getByRole('link', { name: 'Continue with Acme' }).click()
    await rita.page.locator('input[name=login]').fill('rita')
    await rita.page.locator('input[name=password]').fill('x')
    await rita.page.locator('[type=submit]').click()
    const consent = rita.page.locator('button', { hasText: /Continue|Allow/ })
    await consent.first().waitFor()
    if ((await rita.page.getByRole('button', { name: 'Continue' }).count()) > 0) {
      await rita.page.getByRole('button', { name: 'Continue' }).click()
    }
    await rita.page.getByRole('button', { name: 'Allow' }).click()
    await rita.page.getByText('You can close this page').waitFor()

    const { data } = (await platform.get('/oauth-grants')).body
    expect(data.map((one: { granted_by: { name: string } }) => one.granted_by.name).sort()).toEqual(['Ada', 'Rita'])
    expect([...ada.complaints, ...rita.complaints]).toEqual([])
  })

  browserTest('the pages are accessible in both themes, and fit a desktop and a phone', async () => {
    await using here = await open()
    await using visitor = await visit(browser)
    const { page } = visitor
    const redirect = 'http://127.0.0.1:51234/callback'
    const { client_id: clientId = '' } = await register(here.platform.url, {
      ...{ client_name: 'Claude Code', redirect_uris: [redirect] },
    })
    const start = authorizeUrl({ issuer: here.platform.url, clientId, redirect, resource: here.desk }, pkce().challenge)
    const check = async (name: string) => {
      for (const size of ['phone', 'desktop'] as const) {
        await page.setViewportSize(sizes[size])
        await picture(page, name, size)
        const width = await page.evaluate('document.documentElement.scrollWidth')
        expect(width).toBeLessThanOrEqual(sizes[size].width)
      }
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        expect(await seriousFaults(page)).toEqual([])
      }
      await page.emulateMedia({ colorScheme: 'light' })
    }

    await page.goto(start)
    await check('oauth-sign-in')
    await page.getByLabel('API key').fill('sk_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('API key').fill(adminKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Allow' }).waitFor()
    await check('oauth-consent')
    await page.goto(`${here.platform.url}/oauth/authorize?client_id=nobody`)
    await check('oauth-error')

    expect(visitor.complaints).toEqual([])
  })
})
