import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { retryAfterMs } from '../src/webhooks/webhooks.ts'
import { engines, freshDatabase } from './engines.ts'
import { type Received, startPlatform, startService, type TestPlatform } from './kit.ts'
import { temporaryFolder } from './process.ts'

const until = <T>(expected: () => T, timeout = 10_000) => vi.waitFor(expected, { timeout, interval: 10 })

async function createWebhook(platform: TestPlatform, url: string, fields: object = {}) {
  const { status, body } = await platform.post('/webhooks', { name: 'runs', url, events: ['*'], ...fields })
  expect(status, JSON.stringify(body)).toBe(201)
  return body as { id: string; secret: string }
}

const tell = (platform: TestPlatform, data: { n: number }, key?: string) =>
  platform.platform.webhooks.publish(platform.projectId, 'generation.completed', data, key ? { key } : {})

const deliveries = async (platform: TestPlatform, id: string) =>
  (await platform.get(`/webhooks/${id}/deliveries`)).body.data

/** Verifies a signature as the Standard Webhooks specification says, without code of the platform. */
function isSigned({ headers, body }: Received, secret: string): boolean {
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = `v1,${createHmac('sha256', key).update(content, 'utf8').digest('base64')}`
  return String(headers['webhook-signature']).split(' ').includes(expected)
}

test('an event is posted to the webhooks that subscribe to it, signed according to Standard Webhooks', async () => {
  await using platform = await startPlatform()
  await using service = await startService(() => ({ status: 202, body: 'thanks' }))
  const { id, secret } = await createWebhook(platform, `${service.url}/hook?a=1`)
  await createWebhook(platform, `${service.url}/other`, { name: 'other', events: ['approval.requested'] })

  await tell(platform, { n: 1 })

  await until(() => expect(service.received).toHaveLength(1))
  const received = service.received[0] as Received
  expect(received).toMatchObject({ method: 'POST', url: '/hook?a=1' })
  expect(received.headers['content-type']).toBe('application/json')
  expect(JSON.parse(received.body)).toEqual({
    type: 'generation.completed',
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    data: { n: 1 },
  })
  expect(secret).toMatch(/^whsec_/)
  expect(isSigned(received, secret)).toBe(true)
  expect(isSigned(received, `whsec_${Buffer.alloc(32).toString('base64')}`)).toBe(false)
  expect(Math.abs(Number(received.headers['webhook-timestamp']) * 1000 - Date.now())).toBeLessThan(60_000)

  await until(async () => expect((await deliveries(platform, id))[0]?.status).toBe('delivered'))
  const [delivery] = await deliveries(platform, id)
  expect(delivery).toMatchObject({
    id: received.headers['webhook-id'],
    webhook_id: id,
    type: 'generation.completed',
    attempts: 1,
    last_status_code: 202,
    last_error: null,
    response_excerpt: 'thanks',
    next_attempt_at: null,
  })
  expect(delivery.body).toBeUndefined()
  const whole = await platform.get(`/webhooks/${id}/deliveries/${delivery.id}`)
  expect(whole.body.body).toEqual(JSON.parse(received.body))
})

test('the secret is shown once, stored encrypted, and never in a list, a log or the database', async () => {
  await using platform = await startPlatform()
  await using service = await startService()
  const { id, secret } = await createWebhook(platform, service.url)
  await platform.post(`/webhooks/${id}/test`)

  const seen = [
    await platform.get('/webhooks'),
    await platform.get(`/webhooks/${id}`),
    await platform.patch(`/webhooks/${id}`, { enabled: false }),
    await platform.get(`/webhooks/${id}/deliveries`),
  ].map(({ body }) => JSON.stringify(body))
  const rows = await platform.platform.store.engine.db.selectFrom('webhooks').selectAll().execute()

  for (const text of [...seen, JSON.stringify(rows)]) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(secret.slice(6))
  }
})

test('a rotated secret is used immediately, and the previous one also signs for a day', async () => {
  await using platform = await startPlatform()
  await using service = await startService()
  const { id, secret } = await createWebhook(platform, service.url)

  const rotated = await platform.post(`/webhooks/${id}/rotate-secret`)
  await platform.post(`/webhooks/${id}/test`)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 25 * 60 * 60 * 1000 })
  await platform.post(`/webhooks/${id}/test`).finally(() => vi.useRealTimers())

  expect(rotated.status).toBe(200)
  expect(rotated.body.secret).not.toBe(secret)
  const [first, second] = service.received as [Received, Received]
  expect([isSigned(first, rotated.body.secret), isSigned(first, secret)]).toEqual([true, true])
  expect([isSigned(second, rotated.body.secret), isSigned(second, secret)]).toEqual([true, false])
})

test('an event that is published several times with one key is sent once to each webhook', async () => {
  await using platform = await startPlatform()
  await using service = await startService()
  await createWebhook(platform, `${service.url}/a`)
  await createWebhook(platform, `${service.url}/b`, { name: 'second' })

  await Promise.all([1, 2, 3].map(() => tell(platform, { n: 1 }, 'generation 1 completed')))
  await tell(platform, { n: 2 }, 'generation 2 completed')

  await until(() => expect(service.received).toHaveLength(4))
  await sleep(100)
  expect(service.received.map(({ url, body }) => `${url} ${JSON.parse(body).data.n}`).sort()).toEqual([
    '/a 1',
    '/a 2',
    '/b 1',
    '/b 2',
  ])
})

// Concurrent, because they wait for retries and a timeout.
describe.concurrent.each(engines)('on %s', (engine) => {
  test('an endpoint that returns 500 or is unreachable gets the event again after 5 s, even if the platform restarts', {
    timeout: 40_000,
  }, async () => {
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    const environment = {
      QM_DATA: database.options.data ?? folder.path,
      DATABASE_URL: database.options.databaseUrl ?? '',
    }
    let healthy = false
    await using service = await startService(() => (healthy ? undefined : { status: 500, body: 'not now' }))
    // A port that is free now and used later.
    const late = createServer((_, response) => void response.end('{}'))
    await new Promise<void>((resolve) => late.listen(0, '127.0.0.1', resolve))
    const { port } = late.address() as AddressInfo
    await new Promise((resolve) => late.close(resolve))
    const ids: string[] = []
    {
      await using platform = await startPlatform(environment)
      ids.push((await createWebhook(platform, service.url)).id)
      ids.push((await createWebhook(platform, `http://127.0.0.1:${port}/`, { name: 'late' })).id)

      await tell(platform, { n: 1 })

      await until(async () => {
        const [[failed], [refused]] = (await Promise.all(ids.map((id) => deliveries(platform, id)))) as [
          [Record<string, unknown>],
          [Record<string, unknown>],
        ]
        expect(failed).toMatchObject({
          status: 'pending',
          attempts: 1,
          last_status_code: 500,
          last_error: 'The endpoint returned status 500.',
          response_excerpt: 'not now',
        })
        expect(refused).toMatchObject({
          status: 'pending',
          attempts: 1,
          last_status_code: null,
          last_error: expect.stringContaining('connection refused'),
        })
        const wait = Date.parse(failed.next_attempt_at as string) - Date.parse(failed.last_attempt_at as string)
        expect(Math.abs(wait - (retryAfterMs[0] as number))).toBeLessThan(1000)
      })
    }
    healthy = true
    await new Promise<void>((resolve) => late.listen(port, '127.0.0.1', resolve))

    await using platform = await startPlatform(environment)

    try {
      await until(async () => {
        for (const id of ids) {
          expect((await deliveries(platform, id))[0]).toMatchObject({
            status: 'delivered',
            attempts: 2,
            last_error: null,
          })
        }
      }, 15_000)
      expect(service.received).toHaveLength(2)
      expect(service.received[0]?.headers['webhook-id']).toBe(service.received[1]?.headers['webhook-id'])
    } finally {
      late.closeAllConnections()
      await new Promise((resolve) => late.close(resolve))
    }
  })

  test('a delivery that was stored but never enqueued is sent after the next start', async () => {
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    const environment = {
      QM_DATA: database.options.data ?? folder.path,
      DATABASE_URL: database.options.databaseUrl ?? '',
    }
    await using service = await startService()
    {
      await using platform = await startPlatform(environment)
      const { id } = await createWebhook(platform, service.url)
      // As if the process had died between storing and enqueuing.
      await platform.platform.store.webhooks.addDeliveries([{ id, project_id: platform.projectId }], {
        type: 'generation.completed',
        body: '{"n":1}',
        nextAt: Date.now(),
      })
    }
    expect(service.received).toHaveLength(0)

    await using _platform = await startPlatform(environment)

    await until(() => expect(service.received.map(({ body }) => body)).toEqual(['{"n":1}']))
  })
})

test.concurrent('a slow endpoint does not delay others, redirects are not followed, and long responses are truncated', {
  timeout: 30_000,
}, async () => {
  await using platform = await startPlatform()
  await using slow = await startService(() => sleep(60_000, undefined, { ref: false }))
  await using service = await startService(({ url }) => {
    if (url === '/moved') return { status: 302, headers: { location: '/elsewhere' } }
    return { body: 'x'.repeat(1_000_000) }
  })
  const dead = await createWebhook(platform, slow.url, { name: 'slow' })
  const quick = await createWebhook(platform, `${service.url}/long`, { name: 'quick' })
  const moved = await createWebhook(platform, `${service.url}/moved`, { name: 'moved' })

  await Promise.all(Array.from({ length: 20 }, (_, n) => tell(platform, { n })))

  await until(() => expect(service.received.filter(({ url }) => url === '/long')).toHaveLength(20))
  expect((await deliveries(platform, dead.id)).map(({ attempts }: { attempts: number }) => attempts)).toEqual(
    Array(20).fill(0),
  )
  await until(async () => expect((await deliveries(platform, quick.id))[0].status).toBe('delivered'))
  const [long] = await deliveries(platform, quick.id)
  expect(long.response_excerpt).toHaveLength(2000)
  await until(async () =>
    expect((await deliveries(platform, moved.id))[0]).toMatchObject({
      last_status_code: 302,
      last_error: expect.stringContaining('Redirects are not followed'),
    }),
  )
  expect(service.received.some(({ url }) => url === '/elsewhere')).toBe(false)
  await until(
    async () =>
      expect(
        (await deliveries(platform, dead.id)).filter(({ attempts }: { attempts: number }) => attempts > 0)[0]
          ?.last_error,
      ).toBe('The endpoint did not respond within 10 s.'),
    15_000,
  )
})

test.concurrent('a webhook that is disabled or deleted gets no events, not even pending ones', async () => {
  await using platform = await startPlatform()
  let answer = 500
  await using service = await startService(() => ({ status: answer }))
  const one = await createWebhook(platform, `${service.url}/one`)
  const two = await createWebhook(platform, `${service.url}/two`, { name: 'two' })
  await tell(platform, { n: 1 })
  await until(() => expect(service.received).toHaveLength(2))
  await until(async () => expect((await deliveries(platform, two.id))[0]?.attempts).toBe(1))

  await platform.patch(`/webhooks/${one.id}`, { enabled: false })
  expect((await platform.delete(`/webhooks/${two.id}`)).status).toBe(204)
  answer = 200
  await tell(platform, { n: 2 })

  await until(async () => expect((await deliveries(platform, one.id))[0]).toMatchObject({ status: 'failed' }))
  await sleep(100)
  expect(service.received).toHaveLength(2)
  expect((await platform.get(`/webhooks/${two.id}/deliveries`)).status).toBe(404)
})

test('a delivery fails after its last attempt, and can be sent again', async () => {
  await using platform = await startPlatform()
  let healthy = false
  await using service = await startService(() => (healthy ? undefined : { status: 503 }))
  const { id } = await createWebhook(platform, service.url)
  const { store } = platform.platform
  const [made] = await store.webhooks.addDeliveries([{ id, project_id: platform.projectId }], {
    type: 'generation.completed',
    body: '{}',
    nextAt: Date.now(),
  })
  await store.webhooks.changeDelivery(made?.id as string, { attempts: retryAfterMs.length })

  await tell(platform, { n: 1 })

  await until(async () =>
    expect((await platform.get(`/webhooks/${id}/deliveries?status=failed`)).body.data).toMatchObject([
      { id: made?.id, attempts: 8, last_status_code: 503, next_attempt_at: null },
    ]),
  )
  healthy = true
  const again = await platform.post(`/webhooks/${id}/deliveries/${made?.id}/redeliver`)
  expect(again.body).toMatchObject({ id: made?.id, status: 'pending' })
  await until(async () =>
    expect((await platform.get(`/webhooks/${id}/deliveries/${made?.id}`)).body).toMatchObject({
      status: 'delivered',
      attempts: 1,
    }),
  )
})

test('a test event is sent immediately, and the response has its result', async () => {
  await using platform = await startPlatform()
  await using service = await startService(({ url }) => (url === '/bad' ? { status: 400, body: 'what?' } : undefined))
  const { id } = await createWebhook(platform, service.url, { events: ['connection.revoked'] })

  const good = await platform.post(`/webhooks/${id}/test`)
  await platform.patch(`/webhooks/${id}`, { url: `${service.url}/bad` })
  const bad = await platform.post(`/webhooks/${id}/test`)

  expect(good).toMatchObject({
    status: 200,
    body: { type: 'webhook.test', status: 'delivered', last_status_code: 200 },
  })
  expect(JSON.parse(service.received[0]?.body ?? '')).toMatchObject({ type: 'webhook.test', data: { webhook_id: id } })
  expect(bad.body).toMatchObject({
    status: 'failed',
    attempts: 1,
    last_error: 'The endpoint returned status 400.',
    response_excerpt: 'what?',
    next_attempt_at: null,
  })
})

test('a webhook whose endpoint returns 410 is disabled until you enable it again', async () => {
  await using platform = await startPlatform()
  let gone = true
  await using service = await startService(() => (gone ? { status: 410 } : undefined))
  const { id } = await createWebhook(platform, service.url)

  await tell(platform, { n: 1 })

  await until(async () => expect((await platform.get(`/webhooks/${id}`)).body.enabled).toBe(false))
  const { body } = await platform.get(`/webhooks/${id}`)
  expect(body.disabled_reason).toContain('410')
  const [delivery] = await deliveries(platform, id)
  expect(delivery).toMatchObject({ status: 'failed', last_status_code: 410 })
  await tell(platform, { n: 2 })
  const refused = await platform.post(`/webhooks/${id}/deliveries/${delivery.id}/redeliver`)
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'WEBHOOK_DISABLED' } } })
  gone = false
  const enabled = await platform.patch(`/webhooks/${id}`, { enabled: true })
  expect(enabled.body).toMatchObject({ enabled: true, disabled_reason: null })
  await tell(platform, { n: 3 })
  await until(() => expect(service.received.map(({ body }) => JSON.parse(body).data.n)).toEqual([1, 3]))
})

test('blocked addresses are not called, and the delivery says why', async () => {
  await using platform = await startPlatform({ QM_HOST: '0.0.0.0' })
  await using service = await startService()
  const urls = [service.url, 'http://169.254.169.254/latest/meta-data', 'http://10.0.0.1/', 'http://[::1]:8080/']

  for (const [index, url] of urls.entries()) {
    const { id } = await createWebhook(platform, url, { name: `hook ${index}` })
    const { body } = await platform.post(`/webhooks/${id}/test`)
    expect(body.status).toBe('failed')
    expect(body.last_error).toContain('are blocked')
    expect(body.last_error).toContain('QM_EGRESS_ALLOW')
  }

  expect(service.received).toHaveLength(0)
})

test('invalid input is refused with a clear error', async () => {
  await using platform = await startPlatform()
  const good = { name: 'runs', url: 'https://example.com/', events: ['*'] }
  const bad: [object, string][] = [
    [{ ...good, url: 'ftp://example.com' }, 'url: must be an http or https URL'],
    [{ ...good, url: 'https://ada:secret@example.com' }, 'without a user name or password'],
    [{ ...good, url: 'example.com' }, 'url'],
    [{ ...good, events: [] }, 'events'],
    [{ ...good, events: ['generation.finished'] }, 'events[0]: must be one of generation.completed'],
    [{ ...good, name: '' }, 'name'],
    [{ ...good, secret: 'whsec_mine' }, 'secret: is not a known field'],
    [{ url: good.url, events: ['*'] }, 'name: is missing'],
  ]

  for (const [input, message] of bad) {
    const { status, body } = await platform.post('/webhooks', input)
    expect(status).toBe(400)
    expect(body.error.message).toContain(message)
  }
  await createWebhook(platform, good.url)
  expect(await platform.post('/webhooks', good)).toMatchObject({ status: 409, body: { error: { code: 'NAME_TAKEN' } } })
  const { id } = await createWebhook(platform, good.url, { name: 'second', events: ['*', '*', 'approval.requested'] })
  expect((await platform.get(`/webhooks/${id}`)).body.events).toEqual(['*', 'approval.requested'])
  expect((await platform.get(`/webhooks/${id}/deliveries/whd_none`)).status).toBe(404)
  expect((await platform.post(`/webhooks/${id}/deliveries/whd_none/redeliver`)).status).toBe(404)
})

test('keys of another project cannot see or use a webhook and its deliveries', async () => {
  await using platform = await startPlatform()
  await using service = await startService()
  const { id } = await createWebhook(platform, service.url)
  await platform.post(`/webhooks/${id}/test`)
  const [delivery] = await deliveries(platform, id)
  const other = (await platform.post('/projects', { name: 'other' })).body.id
  const everything = [{ effect: 'Allow', action: ['*'], resource: ['*'] }]
  const key = await platform.keyFor(everything, { project_id: other })
  const reader = await platform.keyFor([
    { effect: 'Allow', action: ['webhooks:GetWebhook', 'webhooks:ListWebhooks'], resource: ['*'] },
  ])

  expect((await platform.get('/webhooks', { key })).body.data).toEqual([])
  for (const path of [`/webhooks/${id}`, `/webhooks/${id}/deliveries`, `/webhooks/${id}/deliveries/${delivery.id}`]) {
    expect((await platform.get(path, { key })).status).toBe(404)
  }
  for (const path of ['test', 'rotate-secret', `deliveries/${delivery.id}/redeliver`]) {
    expect((await platform.post(`/webhooks/${id}/${path}`, {}, { key })).status).toBe(403)
    expect((await platform.post(`/webhooks/${id}/${path}`, {}, { key: reader })).status).toBe(403)
  }
  expect((await platform.get(`/webhooks/${id}`, { key: reader })).status).toBe(200)
  expect((await platform.get(`/webhooks/${id}/deliveries`, { key: reader })).status).toBe(404)
  // A delivery is found only under its own webhook.
  const mine = await platform.post('/webhooks', { name: 'mine', url: service.url, events: ['*'] }, { key })
  expect((await platform.get(`/webhooks/${mine.body.id}/deliveries/${delivery.id}`, { key })).status).toBe(404)
  // Events of one project are not sent to another.
  await tell(platform, { n: 1 })
  await until(() => expect(service.received).toHaveLength(2))
  expect((await platform.get(`/webhooks/${mine.body.id}/deliveries`, { key })).body.total).toBe(0)
})

test('fields that are too large to send are left out and listed', async () => {
  await using platform = await startPlatform()
  await using service = await startService()
  await createWebhook(platform, service.url)

  await platform.platform.webhooks.publish(platform.projectId, 'generation.completed', {
    generation_id: 'agt_gen_1',
    content: 'x'.repeat(300_000),
    note: 'short',
  })

  await until(() => expect(service.received).toHaveLength(1))
  expect(JSON.parse(service.received[0]?.body ?? '').data).toEqual({
    generation_id: 'agt_gen_1',
    note: 'short',
    omitted: ['content'],
  })
})

test('deliveries older than 30 days are deleted', async () => {
  await using platform = await startPlatform()
  await using service = await startService()
  const { id } = await createWebhook(platform, service.url)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 31 * 24 * 60 * 60 * 1000 })
  await platform.post(`/webhooks/${id}/test`).finally(() => vi.useRealTimers())
  await platform.post(`/webhooks/${id}/test`)
  expect(await deliveries(platform, id)).toHaveLength(2)

  await platform.platform.webhooks.sweep()

  expect(await deliveries(platform, id)).toHaveLength(1)
})
