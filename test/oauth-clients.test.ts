import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type JWTPayload, SignJWT } from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { identity, trust } from './certificate.ts'
import { startListening } from './clients.ts'
import { allow, authorizeUrl, follow, pkce, register, tokenRequest, Visitor } from './oauth-kit.ts'

/** Clients as they introduce themselves in the wild: by a metadata document, or by registration. */

interface Publisher extends AsyncDisposable {
  readonly url: string
  readonly documents: Map<string, object | string>
  readonly requests: { readonly path: string; readonly userAgent: string | undefined }[]
}

/** A site that publishes metadata documents. */
async function startPublisher(): Promise<Publisher> {
  const documents = new Map<string, object | string>()
  const requests: { path: string; userAgent: string | undefined }[] = []
  const trusted = trust()
  const server = createServer(identity, (request, response) => {
    const path = request.url ?? ''
    requests.push({ path, userAgent: request.headers['user-agent'] })
    const document = documents.get(path)
    if (path === '/moved') response.writeHead(302, { location: '/client' }).end()
    else if (document === undefined) response.writeHead(404).end()
    else {
      const body = typeof document === 'string' ? document : JSON.stringify(document)
      response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    ...{ documents, requests },
    async [Symbol.asyncDispose]() {
      trusted[Symbol.dispose]()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function open(environment: Record<string, string> = {}) {
  const platform = await startListening(environment)
  await platform.post('/servers', { slug: 'desk', name: 'Help desk' })
  return Object.assign(platform, { desk: `${platform.url}/mcp/desk` })
}

/** Connects a client, and returns the token response and the consent page. */
async function connect(
  { url: issuer, desk: resource }: Awaited<ReturnType<typeof open>>,
  {
    clientId,
    redirect,
    scope,
    auth = {},
  }: { clientId: string; redirect: string; scope?: string; auth?: Record<string, string> },
) {
  const { verifier, challenge } = pkce()
  const start = authorizeUrl({ issuer, clientId, redirect, resource, ...(scope && { scope }) }, challenge)
  const { back, pages } = await allow(new Visitor(), start, issuer)
  const code = back.searchParams.get('code') ?? ''
  const answer = await tokenRequest(issuer, {
    ...{ grant_type: 'authorization_code', code, client_id: clientId, code_verifier: verifier, redirect_uri: redirect },
    ...{ resource, ...auth },
  })
  return { back, answer, consent: pages.at(-1) }
}

describe('a client with a metadata document', () => {
  test('like Claude Code connects from any port of loopback, and is shown with the host that published it', async () => {
    await using publisher = await startPublisher()
    await using platform = await open()
    const clientId = `${publisher.url}/oauth/claude-code-client-metadata`
    publisher.documents.set('/oauth/claude-code-client-metadata', {
      client_id: clientId,
      client_name: 'Claude Code',
      client_uri: 'https://claude.ai',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    })

    const { answer, consent } = await connect(platform, { clientId, redirect: 'http://localhost:54545/callback' })

    expect(answer).toMatchObject({ status: 200, body: { token_type: 'Bearer', refresh_token: expect.any(String) } })
    expect(consent?.html).toContain(`published by ${new URL(publisher.url).host}`)
    expect(consent?.html).toContain('an app on this computer (localhost:54545)')
    expect(consent?.html).toContain('Continue only if you have just started this')
    expect(publisher.requests[0]?.userAgent).toMatch(/^quartermaster\//)
  })

  test('like ChatGPT authenticates with a signed assertion, and cannot use one twice', async () => {
    await using publisher = await startPublisher()
    await using platform = await open()
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const clientId = `${publisher.url}/oauth/client.json`
    const redirect = 'https://chatgpt.com/connector_platform_oauth_redirect'
    publisher.documents.set('/jwks', {
      keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }],
    })
    publisher.documents.set('/oauth/client.json', {
      client_id: clientId,
      client_name: 'ChatGPT',
      redirect_uris: [redirect],
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'RS256',
      jwks_uri: `${publisher.url}/jwks`,
    })
    const assertion = await new SignJWT({})
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(platform.url)
      .setJti('one')
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(privateKey)
    const auth = {
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    }

    const first = await connect(platform, { clientId, redirect, scope: 'openid profile offline_access', auth })
    const again = await connect(platform, { clientId, redirect, auth })
    const without = await connect(platform, { clientId, redirect })

    expect(first.answer).toMatchObject({ status: 200, body: { scope: expect.stringContaining('mcp') } })
    expect(first.consent?.html).toContain('chatgpt.com')
    expect(first.consent?.html).not.toContain('Continue only if you have just started this')
    expect([again.answer.body.error, without.answer.body.error]).toEqual(['invalid_client', 'invalid_client'])
  })

  test('cannot authenticate with an assertion for somebody else, of another client, or without an end', async () => {
    await using publisher = await startPublisher()
    await using platform = await open()
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const clientId = `${publisher.url}/client`
    const redirect = 'https://app.example.com/callback'
    const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }] }
    const method = { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'RS256' }
    publisher.documents.set('/client', {
      ...{ client_id: clientId, client_name: 'x', redirect_uris: [redirect], jwks, ...method },
    })
    const now = Math.floor(Date.now() / 1000)
    const good = { iss: clientId, sub: clientId, aud: platform.url, iat: now, exp: now + 60 }
    const assertions: Record<string, JWTPayload> = {
      'another audience': { ...good, aud: 'https://elsewhere.example.com' },
      'another client': { ...good, iss: 'https://other.example.com', sub: 'https://other.example.com' },
      'another subject': { ...good, sub: 'https://other.example.com' },
      expired: { ...good, exp: now - 60 },
      'without an end': { iss: clientId, sub: clientId, aud: platform.url, iat: now },
      'without an id': good,
    }
    const errorWith = async (claims: JWTPayload, jti?: string) => {
      const payload = jti === undefined ? claims : { ...claims, jti }
      const assertion = await new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(privateKey)
      const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
      const auth = { client_assertion: assertion, client_assertion_type: type }
      return (await connect(platform, { clientId, redirect, auth })).answer.body.error
    }

    expect(await errorWith(good, 'good')).toBeUndefined()
    for (const [name, claims] of Object.entries(assertions)) {
      const jti = name === 'without an id' ? undefined : name
      expect(['invalid_client', 'invalid_request'], name).toContain(await errorWith(claims, jti))
    }
  })

  test('that changes later is held to the document that the person saw, and then to the new one', async () => {
    await using publisher = await startPublisher()
    await using platform = await open()
    using _time = { [Symbol.dispose]: () => void vi.useRealTimers() }
    const redirect = 'http://127.0.0.1/callback'
    const changes: Record<string, object | undefined> = {
      '/same': {},
      '/other-id': { client_id: `${publisher.url}/else` },
      '/secret': { client_secret: 'x' },
      '/symmetric': { token_endpoint_auth_method: 'client_secret_post' },
      '/gone': undefined,
    }
    const refreshes: { path: string; fields: Record<string, string> }[] = []

    for (const [path, change] of Object.entries(changes)) {
      const clientId = `${publisher.url}${path}`
      const document = { client_id: clientId, client_name: 'x', redirect_uris: [redirect] }
      publisher.documents.set(path, document)
      const { verifier, challenge } = pkce()
      const start = authorizeUrl({ issuer: platform.url, clientId, redirect, resource: platform.desk }, challenge)
      const { back } = await allow(new Visitor(), start, platform.url)
      if (change) publisher.documents.set(path, { ...document, ...change })
      else publisher.documents.delete(path)
      const { body } = await tokenRequest(platform.url, {
        ...{ grant_type: 'authorization_code', code: back.searchParams.get('code') ?? '', client_id: clientId },
        ...{ code_verifier: verifier, redirect_uri: redirect, resource: platform.desk },
      })
      const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token: body.refresh_token }
      refreshes.push({ path, fields })
    }
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60 * 60_000 })
    const later = await Promise.all(
      refreshes.map(async ({ path, fields }) => [
        path,
        (await tokenRequest(platform.url, fields)).body.error ?? 'issued',
      ]),
    )

    expect(publisher.requests.filter(({ path }) => path === '/gone')).toHaveLength(2)
    expect(Object.fromEntries(later)).toEqual({
      ...{ '/same': 'issued', '/gone': 'invalid_client', '/other-id': 'invalid_client_metadata' },
      ...{ '/secret': 'invalid_client_metadata', '/symmetric': 'invalid_client_metadata' },
    })
  })

  test('is refused if the document is not what it should be', async () => {
    await using publisher = await startPublisher()
    await using platform = await open()
    const redirect = 'http://127.0.0.1/callback'
    const id = (path: string) => `${publisher.url}${path}`
    const good = (path: string) => ({ client_id: id(path), client_name: 'x', redirect_uris: [redirect] })
    const { documents } = publisher
    documents.set('/client', good('/client'))
    documents.set('/other', good('/client'))
    documents.set('/secret', { ...good('/secret'), client_secret: 'x' })
    documents.set('/symmetric', { ...good('/symmetric'), token_endpoint_auth_method: 'client_secret_post' })
    documents.set('/redirect', { ...good('/redirect'), redirect_uris: ['http://evil.test/callback'] })
    documents.set('/text', 'not JSON')
    documents.set('/list', [])
    documents.set('/huge', { ...good('/huge'), client_name: 'x'.repeat(1_000_000) })
    const statusOf = async (clientId: string) => {
      const url = authorizeUrl({ issuer: platform.url, clientId, redirect, resource: platform.desk }, pkce().challenge)
      return (await follow(new Visitor(), url, platform.url)).page?.status
    }

    expect(await statusOf(id('/client'))).toBe(200)
    for (const path of [
      '/other',
      '/secret',
      '/symmetric',
      '/redirect',
      '/text',
      '/list',
      '/huge',
      '/absent',
      '/moved',
    ]) {
      expect(await statusOf(id(path)), path).toBe(400)
    }
    for (const url of ['http://localhost/client', `${publisher.url}/a/../client`, `${publisher.url}/client#x`]) {
      expect(await statusOf(url), url).toBe(400)
    }
  })

  test('is never fetched from a private address', async () => {
    await using publisher = await startPublisher()
    await using platform = await open({ QM_HOST: '0.0.0.0' })
    const redirect = 'http://127.0.0.1/callback'
    const places = [publisher.url, 'https://169.254.169.254', 'https://10.0.0.1', 'https://[::1]', 'https://2130706433']

    for (const place of places) {
      const clientId = `${place}/client`
      const url = authorizeUrl({ issuer: platform.url, clientId, redirect, resource: platform.desk }, pkce().challenge)
      const { page } = await follow(new Visitor(), url, platform.url)
      expect(page?.status, place).toBe(400)
      expect(await page?.text(), place).not.toContain('ECONN')
    }
    expect(publisher.requests).toEqual([])
  })

  test('is accepted only from hosts that the operator lists, if there is a list', async () => {
    await using publisher = await startPublisher()
    const clientId = `${publisher.url}/client`
    const redirect = 'http://127.0.0.1/callback'
    publisher.documents.set('/client', { client_id: clientId, client_name: 'x', redirect_uris: [redirect] })
    const statusWith = async (hosts: string) => {
      await using platform = await open({ QM_OAUTH_CLIENT_HOSTS: hosts })
      const url = authorizeUrl({ issuer: platform.url, clientId, redirect, resource: platform.desk }, pkce().challenge)
      return (await follow(new Visitor(), url, platform.url)).page?.status
    }

    expect([await statusWith('claude.ai,localhost'), await statusWith('claude.ai'), await statusWith('none')]).toEqual([
      200, 400, 400,
    ])
  })
})

describe('a client that registers itself', () => {
  test('like Cursor may call itself web and have a URL scheme of its own', async () => {
    await using platform = await open()
    const redirect = 'cursor://anysphere.cursor-retrieval/oauth/user-desk/callback'
    const registered = await register(platform.url, {
      client_name: 'Cursor',
      application_type: 'web',
      redirect_uris: [redirect, 'http://localhost:8787/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    })

    const { answer, back } = await connect(platform, { clientId: registered.client_id ?? '', redirect })

    expect(registered).toMatchObject({ status: '201', application_type: 'native' })
    expect(back.protocol).toBe('cursor:')
    expect(answer.status).toBe(200)
  })

  test('like VS Code may list grant types that we do not have', async () => {
    await using platform = await open()
    const registered = await register(platform.url, {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      redirect_uris: ['https://vscode.dev/redirect', 'http://127.0.0.1/', 'http://127.0.0.1:33418/'],
      scope: 'mcp',
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    })

    const { answer } = await connect(platform, {
      ...{ clientId: registered.client_id ?? '', redirect: 'http://127.0.0.1:33418/', scope: 'mcp' },
    })

    expect(registered).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'] })
    expect(answer.status).toBe(200)
  })

  test('like the MCP SDK may leave everything out but its redirect, and a scope', async () => {
    await using platform = await open()
    const redirect = 'http://localhost:6274/oauth/callback'
    const { client_id: clientId = '' } = await register(platform.url, { redirect_uris: [redirect] })

    const { answer } = await connect(platform, { clientId, redirect })

    expect(answer).toMatchObject({ status: 200, body: { scope: 'mcp' } })
  })

  test('is refused if the operator does not allow it', async () => {
    await using platform = await open({ QM_OAUTH_REGISTRATION: 'false' })

    const answer = await register(platform.url, { redirect_uris: ['http://127.0.0.1/callback'] }).catch(() => undefined)
    const response = await fetch(`${platform.url}/.well-known/oauth-authorization-server`)
    const metadata = (await response.json()) as Record<string, unknown>

    expect(answer?.client_id).toBeUndefined()
    expect(metadata.registration_endpoint).toBeUndefined()
  })
})
