import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startCompanyIdp } from './company-idp.ts'
import { adminKey, ask, startService } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'
import { ownPage } from './signing-in.ts'

const secrets = {
  password: 'canary-password-5f2c81',
  wrong: 'canary-wrong-password-77aa',
  next: 'canary-next-password-0b9d',
}

test('passwords, invitation tokens, session tokens and client secrets are in no file and no line of the log', async () => {
  await using folder = await temporaryFolder()
  await using platform = await startProcess(folder.path, {
    QM_ADMIN_KEY: adminKey,
    QM_EMBEDDINGS: 'off',
    QM_LOG_LEVEL: 'trace',
  })
  await using idp = await startCompanyIdp(`${platform.url}/api/v1/dashboard/sso/callback`)
  await using broken = await startService(() => ({ status: 500, body: 'canary-of-a-broken-provider' }))
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${platform.url}/api/v1/dashboard/${path}`, {
      method: 'POST',
      headers: { ...ownPage, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const invited = await ask<{ invitation_url: string }>(platform, 'POST', '/users', {
    email: 'r@example.com',
    role: 'owner',
  })
  const token = invited.invitation_url.split('#')[1] as string
  const provider = { name: 'Acme', client_id: 'quartermaster', client_secret: 'canary-client-secret-91c4' }
  const good = await ask<{ id: string }>(platform, 'POST', '/sign-in-providers', { ...provider, issuer: idp.issuer })
  const bad = await ask<{ id: string }>(platform, 'POST', '/sign-in-providers', { ...provider, issuer: broken.url })

  await post('invitation', { token })
  const accepted = await post('invitation/accept', { token, password: secrets.password })
  const cookie = accepted.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { csrf_token: csrf } = (await accepted.json()) as { csrf_token: string }
  await post('invitation/accept', { token, password: secrets.password })
  await post('session', { email: 'r@example.com', password: secrets.wrong })
  await post('session', { email: 'r@example.com', password: secrets.password, [secrets.next]: 1 })
  const headers = { cookie, 'x-quartermaster-csrf': csrf }
  const changed = await post('password', { current_password: secrets.password, new_password: secrets.next }, headers)
  const states: string[] = []
  for (const { id } of [good, bad]) {
    const begun = await fetch(`${platform.url}/api/v1/dashboard/sso/${id}/start`, { redirect: 'manual' })
    const state = URL.parse(begun.headers.get('location') ?? '')?.searchParams.get('state')
    const flow = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
    if (state) states.push(state)
    const query = `code=canary-code-3e1f&state=${state}&iss=${encodeURIComponent(idp.issuer)}`
    const back = await fetch(`${platform.url}/api/v1/dashboard/sso/callback?${query}`, {
      redirect: 'manual',
      headers: { cookie: flow },
    })
    expect(back.headers.get('location')).toMatch(/sign_in_error/)
  }
  await platform.stop('SIGTERM')

  expect([accepted.status, changed.status, states.length]).toEqual([201, 201, 1])
  const files = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  const written = [
    platform.output(),
    ...files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')),
  ].join('\n')
  const session = cookie.split('=')[1] as string
  const planted = [...Object.values(secrets), token, session, csrf, provider.client_secret]
  expect(
    [...planted, ...states, 'canary-code-3e1f', 'canary-of-a-broken'].filter((one) => written.includes(one)),
  ).toEqual([])
  // The search finds what is there.
  expect(written).toContain('r@example.com')
  expect(platform.output()).toContain('SIGN_IN_PROVIDER_FAILED')
})
