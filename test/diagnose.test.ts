import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { startProtected, TestBrowser } from './connect-peers.ts'
import { startService, type TestPlatform } from './kit.ts'
import { soundMetadata, soundServer, startAuthorizationServer, startScripted } from './oauth-peers.ts'

interface Step {
  readonly step: string
  readonly ok: boolean
  readonly detail: string
}

async function create(platform: TestPlatform, path: string, body: object) {
  const response = await platform.post(path, { project_id: platform.projectId, ...body })
  expect(response.status, JSON.stringify(response.body)).toBe(201)
  return response.body
}

const register = (platform: TestPlatform, url: string) =>
  create(platform, '/tools', { name: 'notes', type: 'mcp', mcp: { url } })

const diagnose = async (platform: TestPlatform, target: object) => {
  const { status, body } = await platform.post('/connections/diagnose', { project_id: platform.projectId, ...target })
  expect(status, JSON.stringify(body)).toBe(200)
  const steps: Step[] = body.steps
  return { ...body, steps, states: steps.map(({ step, ok }) => `${step} ${ok ? 'ok' : 'failed'}`) }
}

test('each step of connecting an account is tried and reported, before and after it is connected', async () => {
  await using as = await startAuthorizationServer()
  await using server = await startProtected(as)
  await using platform = await startListening()
  const tool = await register(platform, server.url)

  const before = await diagnose(platform, { tool_id: tool.id })
  const link = await create(platform, '/connections/link', { tool_id: tool.id })
  await new TestBrowser().connect(link.connect_url)
  const after = await diagnose(platform, { tool_id: tool.id })
  server.refuse(true)
  const refused = await diagnose(platform, { tool_id: tool.id })

  const found = ['request ok', 'challenge ok', 'resource_metadata ok', 'server_metadata ok', 'registration ok']
  expect(before).toMatchObject({ ok: false, type: 'oauth2_authorization_code', connection_id: null })
  expect(before.states).toEqual([...found, 'authorization ok', 'token failed'])
  expect(before.steps.at(-1)?.detail).toContain('No account is connected')
  expect(before.redirect_uri).toBe(`${platform.url}/connect/callback`)
  expect(after.ok, JSON.stringify(after.steps)).toBe(true)
  expect(after.states).toEqual([...found, 'authorization ok', 'token ok', 'request ok'])
  expect(refused.states.at(-1)).toBe('request failed')
  expect(refused.steps.at(-1)?.detail).toContain('does not accept the credentials (401)')
  const token = String(server.rejected.at(-1))
  expect(token.length).toBeGreaterThan(20)
  expect(JSON.stringify([before, after, refused])).not.toContain(token)
})

describe('a diagnosis says what failed, and what to do', () => {
  const cases: Record<string, [(url: string) => object, step: string, detail: RegExp]> = {
    'no metadata': [
      () => ({
        'GET /.well-known/oauth-protected-resource/mcp': { status: 404 },
        'GET /.well-known/oauth-authorization-server': { status: 404 },
      }),
      'server_metadata',
      /does not publish where/,
    ],
    'another issuer': [
      (url) => ({
        'GET /.well-known/oauth-authorization-server': { body: { ...soundMetadata(url), issuer: `${url}/other` } },
      }),
      'server_metadata',
      /issuer/,
    ],
    'no PKCE': [
      (url) => ({
        'GET /.well-known/oauth-authorization-server': {
          body: { ...soundMetadata(url), code_challenge_methods_supported: undefined },
        },
      }),
      'registration',
      /S256/,
    ],
    'registration refused': [
      () => ({
        'POST /register': { status: 400, body: { error: 'invalid_client_metadata', error_description: 'no' } },
      }),
      'registration',
      /Register a client there by hand/,
    ],
    'no registration': [
      (url) => ({
        'GET /.well-known/oauth-authorization-server': {
          body: { ...soundMetadata(url), registration_endpoint: undefined },
        },
      }),
      'registration',
      /Register a client there by hand/,
    ],
    'a failing authorization server': [
      () => ({ 'GET /.well-known/oauth-authorization-server': { status: 503 } }),
      'server_metadata',
      /Try again later/,
    ],
  }

  test.for(Object.entries(cases))('%s', async ([, [change, step, detail]]) => {
    await using server = await startScripted((url) => ({
      ...{ 'POST /mcp': { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' } } },
      ...soundServer(url),
      ...change(url),
    }))
    await using platform = await startListening()
    const tool = await register(platform, `${server.url}/mcp`)

    const { ok, steps } = await diagnose(platform, { tool_id: tool.id })

    expect(ok).toBe(false)
    expect(steps.at(-1), JSON.stringify(steps)).toMatchObject({
      step,
      ok: false,
      detail: expect.stringMatching(detail),
    })
  })

  test('a server that is out of reach', async () => {
    await using platform = await startListening()
    const tool = await register(platform, 'http://127.0.0.1:9/mcp')

    const { states, steps } = await diagnose(platform, { tool_id: tool.id })

    expect(states).toEqual(['request failed'])
    expect(steps[0]?.detail).toContain('127.0.0.1:9')
  })

  test('an account that was connected for another host', async () => {
    await using as = await startAuthorizationServer()
    await using server = await startProtected(as)
    await using elsewhere = await startProtected(as)
    await using platform = await startListening()
    const tool = await register(platform, server.url)
    const link = await create(platform, '/connections/link', { tool_id: tool.id })
    await new TestBrowser().connect(link.connect_url)
    await platform.patch(`/tools/${tool.id}`, { mcp: { url: elsewhere.url } })

    const { steps } = await diagnose(platform, { tool_id: tool.id })

    expect(steps.at(-1)).toMatchObject({ step: 'token', ok: false, detail: expect.stringContaining('another host') })
    expect(elsewhere.rejected).toEqual([])
  })
})

test('the account of an end user is diagnosed for who may act for them, and an API key needs no server', async () => {
  await using service = await startService()
  await using platform = await startListening()
  const execute = { url: service.url, method: 'GET' }
  await create(platform, '/tools', { name: 'contacts', app: 'crm', parameters: {}, execute })
  await create(platform, '/connections', {
    ...{ app: 'crm', type: 'api_key', value: 'crm-live-0123456789', owner: { kind: 'user', id: 'alice' } },
  })
  const key = await platform.keyFor([
    { effect: 'Allow', action: ['*'] },
    { effect: 'Deny', action: ['connections:ActAs'] },
  ])

  const alice = await diagnose(platform, { app: 'crm', end_user_id: 'alice' })
  const refused = await platform.post('/connections/diagnose', { app: 'crm', end_user_id: 'alice' }, { key })
  const missing = await platform.post('/connections/diagnose', { project_id: platform.projectId, app: 'none' })

  expect(alice).toMatchObject({ ok: true, type: 'api_key', states: ['token ok'] })
  expect(refused.status).toBe(403)
  expect(missing.status).toBe(400)
  expect(service.received).toEqual([])
})
