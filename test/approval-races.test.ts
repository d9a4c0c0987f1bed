import { describe, expect, test } from 'vitest'
import { people, until } from './approving.ts'
import { engines, freshDatabase } from './engines.ts'
import { startPlatform, startService, type TestPlatform } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'
import { inParallel, soak } from './soak.ts'

const adminKey = 'sk_of_the_approval_races'
const many = soak ? 1000 : 100
const reviewers = 8

const shuffled = <T>(all: readonly T[]): T[] =>
  all
    .map((one) => ({ one, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one)

describe.each(engines)('approvals on %s', (engine) => {
  test(`with ${many} calls and ${reviewers} reviewers, each is decided once and each approved call is made once`, {
    timeout: 240_000,
  }, async () => {
    await using service = await startService()
    await using database = await freshDatabase(engine)
    const { databaseUrl } = database.options
    const environment = {
      QM_RATE_LIMIT: '0',
      QM_PENDING_APPROVALS: String(many),
      ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    }
    await using one = await startPlatform(environment)
    await using second = databaseUrl ? await startPlatform(environment) : undefined
    const platforms: TestPlatform[] = [one, second ?? one]
    const at = (n: number) => platforms[n % 2] as TestPlatform
    const tool = { name: 'count', execute: { url: service.url }, parameters: { type: 'object' }, auto_approve: false }
    const { id } = (await one.post('/tools', tool)).body
    const { caller } = await people(one)
    const keys = await Promise.all(
      Array.from({ length: reviewers }, () => one.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])),
    )

    // Half of the callers wait. The others return immediately and repeat the call later.
    const numbers = Array.from({ length: many }, (_, n) => n)
    const call = (n: number, wait: boolean, where = n) =>
      at(where).post(`/tools/${id}/call`, { input: { n }, wait }, { key: caller })
    const waiting = numbers.filter((n) => n % 2 === 0).map(async (n) => ({ n, answer: await call(n, true, n / 2) }))
    await inParallel(
      numbers.filter((n) => n % 2 === 1),
      20,
      async (n) => void (await call(n, false, (n - 1) / 2)),
    )
    const { db } = one.platform.store.engine
    await until(async () => {
      const rows = await db.selectFrom('approvals').select('id').execute()
      return rows.length === many || undefined
    }, 60_000)
    const asked = await db.selectFrom('approvals').select(['id', 'input']).execute()
    const wins = new Map<string, string[]>()
    await Promise.all(
      keys.map((key, reviewer) =>
        inParallel(shuffled(asked), 3, async ({ id: approval }) => {
          const verb = reviewer % 4 === 3 ? 'reject' : 'approve'
          const { status } = await at(reviewer).post(`/approvals/${approval}/${verb}`, {}, { key })
          expect([200, 409]).toContain(status)
          if (status === 200) wins.set(approval, [...(wins.get(approval) ?? []), verb])
        }),
      ),
    )
    const decided = new Map(
      asked.map(({ id: approval, input }) => [(JSON.parse(input) as { n: number }).n, wins.get(approval)]),
    )
    const waited = await Promise.all(waiting)
    // Callers that did not wait repeat their call, several at once, on both processes.
    await inParallel(
      numbers.filter((n) => n % 2 === 1 && decided.get(n)?.[0] === 'approve'),
      10,
      async (n) => {
        const answers = await Promise.all([call(n, false, 0), call(n, false, 1), call(n, false, 0)])
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      },
    )

    expect([...decided.values()].filter((verbs) => verbs?.length !== 1)).toEqual([])
    for (const { n, answer } of waited) expect(answer.status).toBe(decided.get(n)?.[0] === 'approve' ? 200 : 403)
    const made = service.received.map(({ body }) => (JSON.parse(body) as { n: number }).n).sort((a, b) => a - b)
    expect(made).toEqual(numbers.filter((n) => decided.get(n)?.[0] === 'approve'))
  })

  test.concurrent('can be decided after the process was killed, and the call is then made once when it is repeated', {
    timeout: 60_000,
  }, async () => {
    await using service = await startService()
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    const start = () =>
      startProcess(folder.path, { QM_ADMIN_KEY: adminKey, DATABASE_URL: database.options.databaseUrl ?? '' })
    const running = await start()
    const made = await prepare(running.url, { execute: { url: service.url } })
    const waiting = ask(running.url, made.caller, 'POST', `/tools/${made.id}/call`, { input: {} }).catch(
      () => 'cut off',
    )
    const asked = await pendingAt(running.url)

    await running.stop('SIGKILL')
    await waiting
    await using again = await start()
    const open = (await ask(again.url, adminKey, 'GET', `/calls/${asked.call_id}`)).body.status
    const approved = await ask(again.url, made.reviewer, 'POST', `/approvals/${asked.id}/approve`, {})
    const before = service.received.length
    const first = await ask(again.url, made.caller, 'POST', `/tools/${made.id}/call`, { input: {}, wait: false })
    const second = await ask(again.url, made.caller, 'POST', `/tools/${made.id}/call`, { input: {}, wait: false })

    expect(open).toBe('pending')
    expect(approved.body).toMatchObject({ status: 'approved' })
    expect(before).toBe(0)
    expect([first.status, second.status]).toEqual([200, 202])
    expect(second.body.approval_id).not.toBe(asked.id)
    expect(service.received).toHaveLength(1)
    expect((await ask(again.url, adminKey, 'GET', `/calls/${asked.call_id}`)).body.status).toBe('success')
  })

  test.concurrent('that were used before the process was killed are not used again', {
    timeout: 60_000,
  }, async () => {
    const { promise: never } = Promise.withResolvers<undefined>()
    await using service = await startService(() => never)
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    const start = () =>
      startProcess(folder.path, { QM_ADMIN_KEY: adminKey, DATABASE_URL: database.options.databaseUrl ?? '' })
    const running = await start()
    const made = await prepare(running.url, { execute: { url: service.url } })
    const waiting = ask(running.url, made.caller, 'POST', `/tools/${made.id}/call`, { input: {} }).catch(
      () => 'cut off',
    )
    const asked = await pendingAt(running.url)
    await ask(running.url, made.reviewer, 'POST', `/approvals/${asked.id}/approve`, {})
    await until(() => service.received.length || undefined)

    await running.stop('SIGKILL')
    await waiting
    await using again = await start()
    const next = await ask(again.url, made.caller, 'POST', `/tools/${made.id}/call`, { input: {}, wait: false })

    expect(next.status).toBe(202)
    expect(next.body.approval_id).not.toBe(asked.id)
    expect((await ask(again.url, adminKey, 'GET', `/approvals/${asked.id}`)).body.status).toBe('used')
    expect((await ask(again.url, adminKey, 'GET', `/calls/${asked.call_id}`)).body.status).toBe('pending')
    expect(service.received).toHaveLength(1)
  })

  test.concurrent('that expire while nobody waits end their call as rejected', async () => {
    await using service = await startService()
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    const start = () =>
      startProcess(folder.path, { QM_ADMIN_KEY: adminKey, DATABASE_URL: database.options.databaseUrl ?? '' })
    const running = await start()
    const made = await prepare(running.url, { execute: { url: service.url }, approval_timeout_seconds: 1 })
    const waiting = ask(running.url, made.caller, 'POST', `/tools/${made.id}/call`, { input: {} }).catch(
      () => 'cut off',
    )
    const asked = await pendingAt(running.url)

    await running.stop('SIGKILL')
    await waiting
    await using again = await start()
    const ended = await until(async () => {
      const { body } = await ask(again.url, adminKey, 'GET', `/calls/${asked.call_id}`)
      return body.status === 'pending' ? undefined : body
    }, 10_000)

    expect(ended).toMatchObject({ status: 'rejected', error: { code: 'APPROVAL_EXPIRED' } })
    expect(service.received).toEqual([])
  })
})

async function ask(url: string, key: string, method: string, path: string, body?: object) {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses field by field
  return { status: response.status, body: (await response.json()) as any }
}

/** A tool that needs approval, with a caller and a reviewer. */
async function prepare(url: string, fields: object) {
  const tool = { name: 'pay', parameters: { type: 'object' }, auto_approve: false, ...fields }
  const { body } = await ask(url, adminKey, 'POST', '/tools', tool)
  const key = async (name: string, policy: string) =>
    (await ask(url, adminKey, 'POST', '/api-keys', { name, access_policy_ids: [policy] })).body.key as string
  return {
    id: body.id as string,
    caller: await key('caller', 'pol_caller'),
    reviewer: await key('Rita', 'pol_reviewer'),
  }
}

const pendingAt = (url: string) =>
  until(async () => (await ask(url, adminKey, 'GET', '/approvals?status=pending')).body.data[0])
