import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import { bytesIn, Canaries, rowsIn } from './canary.ts'
import { credentialPlaces, refusedCredentials } from './canary-credentials.ts'
import { places, plain, refused, type Site } from './canary-places.ts'
import { callable, mirror, script, startIssuing, startRevealing } from './canary-services.ts'
import { callOverMcp, callTools, readEverything, runAgents, Visitor } from './canary-visitor.ts'
import { engines, freshDatabase } from './engines.ts'
import { startService } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'
import { startUpstream } from './upstream.ts'

/**
 * Plants a secret in every place that takes one, uses the platform in every way that could reveal one, and searches
 * everything that it has written and sent.
 */

/** Secrets that the operator sets. */
const variables = ['QM_ADMIN_KEY', 'QM_SECRET_KEY', 'QM_EMBEDDINGS_KEY'] as const

describe.each(engines)('on %s,', (engine) => {
  test('no secret is found in the database, logs, responses, streams, webhooks, prompts and metrics', {
    timeout: 240_000,
  }, async () => {
    const canaries = new Canaries()
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    await using service = await startService(mirror)
    await using upstream = await startRevealing()
    await using discreet = await startUpstream()
    await using models = await startReplayServer(script)
    await using issuer = await startIssuing()
    const operator = Object.fromEntries(variables.map((name) => [name, `sk_${plain(canaries.make(name))}`]))
    const files = join(folder.path, 'files')
    await mkdir(files)
    await writeFile(join(files, 'canary'), canaries.make('secret in a file'))
    const { databaseUrl } = database.options
    const data = database.options.data ?? join(folder.path, 'data')
    await using platform = await startProcess(data, {
      ...operator,
      ...(databaseUrl && { DATABASE_URL: databaseUrl }),
      ...{ CANARY_VARIABLE: canaries.make('secret in a variable'), QM_SECRET_VARIABLES: 'CANARY_VARIABLE' },
      ...{ QM_SECRET_FILES: files, QM_LOG_LEVEL: 'trace', QM_ALLOW_STDIO: 'true' },
      ...{ QM_EMBEDDINGS_URL: `${service.url}/fail`, QM_EMBEDDINGS_MODEL: 'm' },
    })
    const visitor = new Visitor(platform.url, operator.QM_ADMIN_KEY ?? '')
    const create: Site['create'] = async (path, body, headers = {}) => {
      const [method = '', target = ''] = path.startsWith('/') ? ['POST', path] : path.split(' ')
      const isSecret = ['/webhooks', '/api-keys', '/users', '/connections/link'].includes(target)
      const made = await visitor.api(method, target, { body, headers, isSecret })
      expect(made.status, `${path}: ${made.text}`).toBeLessThan(300)
      return made.body()
    }

    for (const [name, , plant] of [...places, ...credentialPlaces]) {
      const keep = (secret: string) => canaries.keep(name, secret)
      await plant(
        {
          ...{ create, keep, issuer, platform: platform.url, admin: operator.QM_ADMIN_KEY ?? '' },
          ...{ service: service.url, upstream: upstream.url, discreet: discreet.url, models: models.url },
          record: (where, text) => void visitor.answers.push([where, text]),
        },
        canaries.make(name),
      )
    }
    const refusedInput = canaries.make('refused input')
    for (const [path, body] of [...refused(refusedInput), ...refusedCredentials(refusedInput)]) {
      await visitor.api('POST', path, { body })
    }
    await visitor.api('GET', '/tools', { key: `sk_${plain(canaries.make('wrong API key'))}` })
    const signedIn = await fetch(`${platform.url}/api/v1/dashboard/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: operator.QM_ADMIN_KEY }),
    })
    canaries.keep('session of the dashboard', /=([^;]+)/.exec(signedIn.headers.get('set-cookie') ?? '')?.[1] ?? '')
    const document = {
      statement: [
        { effect: 'Allow', action: ['*'] },
        { effect: 'Deny', action: ['tools:UpdateTool'] },
      ],
    }
    const policy = await create('/access-policies', { name: 'reader', document })
    const { key: reader = '' } = await create('/api-keys', { name: 'reader', access_policy_ids: [policy.id] })
    const { key: caller = '' } = await create('/api-keys', { name: 'caller', access_policy_ids: ['pol_caller'] })
    await create('/servers', { slug: 'all' })
    await create('/servers', { slug: 'desk', agent_mode: true })

    visitor.watch('/calls/stream')
    visitor.watch('/approvals/stream')
    await callTools(visitor, caller)
    await callOverMcp(visitor, caller)
    await runAgents(visitor)
    for (const { id } of await visitor.list('/webhooks'))
      await visitor.api('POST', `/webhooks/${id}/test`, { body: {} })
    const hooks = () => service.received.filter(({ url }) => url === '/hook').map(({ body }) => body)
    await vi.waitFor(
      () =>
        expect(hooks().join()).toMatch(
          /generation\.completed.*approval\.requested|approval\.requested.*generation\.completed/s,
        ),
      30_000,
    )
    const count = await readEverything(visitor, [operator.QM_ADMIN_KEY ?? '', reader, caller])
    const running = databaseUrl ? await rowsIn(databaseUrl) : bytesIn(data)
    await visitor.endStreams()
    await platform.stop('SIGTERM')

    const seen = canaries.in(JSON.stringify([service.received, issuer.received, upstream.headers, models.requests]))
    expect([...places, ...credentialPlaces].filter(([name, use]) => use === 'seen' && !seen.includes(name))).toEqual([])
    const prompts = JSON.stringify(models.requests.map(({ body }) => body))
    // Every tool that the agent called has returned something secret, except the one that is out of reach.
    expect(prompts.split('[redacted]').length).toBeGreaterThan(callable.length - 1)
    expect(count).toBeGreaterThan(100)
    const leaks = [
      ...visitor.answers,
      ['the database', running] as const,
      ['the database after the stop', databaseUrl ? await rowsIn(databaseUrl) : bytesIn(data)] as const,
      ['the log', platform.output()] as const,
      ['webhooks', hooks().join()] as const,
      ['prompts', prompts] as const,
    ].flatMap(([where, text]) => canaries.in(text).map((place) => `${place}: ${where}`))
    expect([...new Set(leaks)]).toEqual([])
  })
})

test('the search finds a secret in every encoding', () => {
  const canaries = new Canaries()
  const secret = canaries.make('here')
  canaries.make('elsewhere')

  for (const text of [
    ...[secret, JSON.stringify(JSON.stringify(secret)), encodeURIComponent(secret)],
    ...['', 'u', 'us', 'user:'].map((before) => Buffer.from(`${before}${secret}`).toString('base64')),
    ...[Buffer.from(secret).toString('hex'), Buffer.from(`x${secret}x`).toString('base64url')],
  ]) {
    expect(canaries.in(`before ${text} after`), text).toEqual(['here'])
  }
  expect(canaries.in('nothing here')).toEqual([])
})
