import { describe, expect, test } from 'vitest'
import { Lineage, lineageHeader } from '../src/http/lineage.ts'
import { approveCall } from '../src/operations/approvals.ts'
import type { Context } from '../src/operations/operation.ts'
import { listen } from '../src/server/listen.ts'
import { gated, pending, people, until } from './approving.ts'
import { engines, freshDatabase } from './engines.ts'
import { adminKey, startPlatform, startService } from './kit.ts'

describe.each(engines)('the pending approvals of one key, on %s,', (engine) => {
  test('are limited: further calls are refused until some are decided', async () => {
    await using service = await startService()
    await using database = await freshDatabase(engine)
    const DATABASE_URL = database.options.databaseUrl ?? ''
    await using platform = await startPlatform({ DATABASE_URL, QM_PENDING_APPROVALS: '3' })
    const { id, caller, reviewer } = await gated(platform, service.url)
    const call = (n: number, key = caller) =>
      platform.post(`/tools/${id}/call`, { input: { city: `${n}` }, wait: false }, { key })

    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => call(n)))

    expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 202, 429, 429])
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.body.error).toMatchObject({
      code: 'TOO_MANY_APPROVALS',
      details: { limit: 3, action: 'tools:pay' },
    })
    expect(refused?.body.error.message).toMatch(
      /not made\. Wait until some are decided, or withdraw some, then call again/,
    )
    expect((await platform.get('/calls?status=rejected')).body.total).toBe(2)
    // Repeating the call returns the pending approval. Another key gets its own.
    const taken = answers.findIndex(({ status }) => status === 202) + 1
    expect((await call(taken)).status).toBe(202)
    expect((await call(9, (await people(platform)).caller)).status).toBe(202)

    const { data } = (await platform.get('/approvals?status=pending')).body
    for (const { id: open } of data) await platform.post(`/approvals/${open}/reject`, {}, { key: reviewer })
    expect((await call(6)).status).toBe(202)
    expect(service.received).toEqual([])
  })

  test('are limited for agents, which see the error and can do something else', async () => {
    await using service = await startService()
    await using database = await freshDatabase(engine)
    const DATABASE_URL = database.options.databaseUrl ?? ''
    await using platform = await startPlatform({ DATABASE_URL, QM_PENDING_APPROVALS: '1' })
    const { id } = await gated(platform, service.url)
    const steps = [
      { answer: { tool_calls: [{ name: 'pay', args: { city: 'Olinda' } }] } },
      { when: { last_tool: { is_error: true, output: 'TOO_MANY_APPROVALS' } }, answer: 'Later, then' },
    ]
    const provider = await platform.post('/ai-providers', { name: 'p', type: 'replay', script: { steps } })
    const agent = await platform.post('/agents', { name: 'a', ai_provider_id: provider.body.id, tool_ids: [id] })
    await platform.post(`/tools/${id}/call`, { input: { city: 'Recife' }, wait: false })

    const { body } = await platform.post(`/agents/${agent.body.id}/generate`, { prompt: 'Pay' })

    expect(body).toMatchObject({ status: 'completed', output: { content: 'Later, then' } })
  })
})

describe('a call that requires approval', () => {
  test('waits, and is made only after it is approved (S4.22) (S4.23) (S4.24) (S4.25)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)

    const call = platform.post(`/tools/${id}/call`, { input: { city: 'Recife' } }, { key: caller })
    const asked = await pending(platform)
    const before = [...service.received]
    const whole = await platform.get(`/approvals/${asked.id}`, { key: reviewer })
    const approved = await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })
    const answer = await call

    expect(whole.body).toMatchObject({ tool: 'pay', action: 'tools:pay', input: { city: 'Recife' } })
    expect(before).toEqual([])
    expect(approved).toMatchObject({ status: 200, body: { status: 'approved' } })
    expect(answer).toMatchObject({ status: 200, body: { ok: true } })
    expect(service.received).toHaveLength(1)
    expect((await platform.get(`/approvals/${asked.id}`)).body.status).toBe('used')
    expect((await platform.get(`/calls/${asked.call_id}`)).body).toMatchObject({ status: 'success' })
  })

  test('is not made if it is rejected, and the caller gets the reason (S4.26)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)

    const call = platform.post(`/tools/${id}/call`, { input: { city: 'Recife' } }, { key: caller })
    const asked = await pending(platform)
    await platform.post(`/approvals/${asked.id}/reject`, { reason: 'Too far away' }, { key: reviewer })

    const { status, body } = await call
    expect(status).toBe(403)
    expect(body.error).toMatchObject({ code: 'APPROVAL_REJECTED', details: { reason: 'Too far away' } })
    expect(body.error.message).toContain('Too far away')
    expect(service.received).toEqual([])
    expect((await platform.get(`/calls/${asked.call_id}`)).body).toMatchObject({ status: 'rejected' })
  })

  test('is rejected if nobody decides in time (S4.27) (S4.28)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url, { approval_timeout_seconds: 1 })

    const { status, body } = await platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })

    expect(status).toBe(403)
    expect(body.error.code).toBe('APPROVAL_EXPIRED')
    expect(service.received).toEqual([])
    expect((await platform.get('/approvals')).body.data).toMatchObject([{ status: 'expired' }])
  })

  test('expires after five minutes, or after the timeout of the project, the tool or the rule (S4.27)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url)
    const seconds = async (city: string) => {
      const call = { input: { city }, wait: false }
      const { approval_id } = (await platform.post(`/tools/${id}/call`, call, { key: caller })).body
      const { expires_at, created_at } = (await platform.get(`/approvals/${approval_id}`)).body
      return Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 1000)
    }

    const limits = [await seconds('a')]
    await platform.patch(`/projects/${platform.projectId}`, { approval_timeout_seconds: 60 })
    limits.push(await seconds('b'))
    await platform.patch(`/tools/${id}`, { approval_timeout_seconds: 50 })
    limits.push(await seconds('c'))
    await platform.post('/approval-rules', { name: 'r', expression: 'input.city == "d"', timeout_seconds: 70 })
    limits.push(await seconds('d'))

    expect(limits).toEqual([300, 60, 50, 70])
    const tooLong = await platform.patch(`/tools/${id}`, { approval_timeout_seconds: 1e9 })
    expect(tooLong.status).toBe(400)
  })

  test('is not made if its key is revoked while it waits', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)

    const call = platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })
    const asked = await pending(platform)
    await platform.delete(`/api-keys/${asked.principal.id}`)
    await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })

    expect(await call).toMatchObject({ status: 401 })
    expect(service.received).toEqual([])
  })

  test('can be made with wait: false and repeated after the approval', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const call = () => platform.post(`/tools/${id}/call`, { input: { city: 'Recife' }, wait: false }, { key: caller })

    const first = await call()
    const second = await call()
    await platform.post(`/approvals/${first.body.approval_id}/approve`, {}, { key: reviewer })
    const third = await call()
    const fourth = await call()

    expect(first).toMatchObject({ status: 202, body: { status: 'pending_approval' } })
    expect(second.body).toEqual(first.body)
    expect(third).toMatchObject({ status: 200, body: { ok: true } })
    expect(fourth.status).toBe(202)
    expect(fourth.body.approval_id).not.toBe(first.body.approval_id)
    expect(service.received).toHaveLength(1)
  })

  test('whose caller disconnected is made once when the caller repeats it (S4.25)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const server = await listen(platform.platform, '127.0.0.1', 0)
    const { id, caller, reviewer } = await gated(platform, service.url)
    const call = (contentType: string, signal?: AbortSignal) =>
      fetch(`${server.url}/api/v1/tools/${id}/call`, {
        method: 'POST',
        headers: { authorization: `Bearer ${caller}`, 'content-type': contentType },
        body: JSON.stringify({ input: { city: 'Recife' } }),
        ...(signal && { signal }),
      })

    for (const way of ['application/json', 'application/json; way=long']) {
      const leaving = new AbortController()
      const first = call(way, leaving.signal).catch(() => 'gave up')
      const asked = await pending(platform)
      leaving.abort()
      expect(await first).toBe('gave up')
      await new Promise((resolve) => setTimeout(resolve, 50))
      await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })
      await new Promise((resolve) => setTimeout(resolve, 50))
      const unused = (await platform.get(`/approvals/${asked.id}`)).body.status
      const again = await call(way)

      expect(unused, way).toBe('approved')
      expect(await again.json()).toEqual({ ok: true })
      expect((await platform.get(`/approvals/${asked.id}`)).body.status).toBe('used')
      expect((await platform.get(`/calls/${asked.call_id}`)).body).toMatchObject({ status: 'success' })
    }
    expect(service.received).toHaveLength(2)
    expect((await platform.get('/calls?status=pending')).body.total).toBe(0)
    await server.close(1)
  })

  test('made twice at the same time requests one approval, and one of the two is made', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const call = () => platform.post(`/tools/${id}/call`, { input: { city: 'Recife' } }, { key: caller })

    const both = [call(), call()]
    const asked = await pending(platform)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const total = (await platform.get('/approvals')).body.total
    await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })
    const answers = await Promise.all(both)

    expect(total).toBe(1)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(answers.find(({ status }) => status === 409)?.body.error.code).toBe('APPROVAL_USED')
    expect(service.received).toHaveLength(1)
    expect((await platform.get('/calls')).body.data).toMatchObject([{ status: 'success' }])
  })

  test('gets SHUTTING_DOWN when the platform stops, and its approval stays pending', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url)

    const call = platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })
    const { id: asked } = await pending(platform)
    platform.platform.drain()

    expect(await call).toMatchObject({ status: 503, body: { error: { code: 'SHUTTING_DOWN' } } })
    expect(await platform.platform.store.approvals.find(asked)).toMatchObject({ status: 'pending' })
  })

  test('with an Idempotency-Key stores no final response before the decision', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const call = () =>
      platform.post(
        `/tools/${id}/call`,
        { input: { city: 'x' }, wait: false },
        { key: caller, headers: { 'idempotency-key': 'k' } },
      )

    const first = await call()
    await platform.post(`/approvals/${first.body.approval_id}/approve`, {}, { key: reviewer })
    const second = await call()
    const third = await call()

    expect([first.status, second.status, third.status]).toEqual([202, 200, 200])
    expect(third.headers.get('idempotency-replayed')).toBe('true')
    expect(service.received).toHaveLength(1)
  })

  test('is recorded with the time it waited for a decision', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const decide = async (city: string, decision: 'approve' | 'reject') => {
      const call = platform.post(`/tools/${id}/call`, { input: { city } }, { key: caller })
      const asked = await pending(platform)
      await platform.post(`/approvals/${asked.id}/${decision}`, {}, { key: reviewer })
      await call
      return (await platform.get(`/calls/${asked.call_id}`)).body
    }
    await platform.patch(`/tools/${id}`, { auto_approve: true })
    await platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })
    const [without] = (await platform.get('/calls')).body.data
    await platform.patch(`/tools/${id}`, { auto_approve: false })

    const approved = await decide('a', 'approve')
    const rejected = await decide('b', 'reject')
    const stats = (await platform.get('/calls/stats')).body

    expect(without.waited_ms).toBeNull()
    expect(approved).toMatchObject({ status: 'success', waited_ms: expect.any(Number) })
    expect(approved.waited_ms).toBeLessThanOrEqual(approved.duration_ms)
    expect(rejected).toMatchObject({ status: 'rejected', waited_ms: rejected.duration_ms })
    expect(stats).toMatchObject({ executed: 2, failed: 0, refused: 1, waited: { total: 2 } })
  })

  test('is not made if the tool changed after the request', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)

    const call = platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })
    const asked = await pending(platform)
    await platform.patch(`/tools/${id}`, { execute: { url: `${service.url}/elsewhere` } })
    await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })

    expect(await call).toMatchObject({ status: 409, body: { error: { code: 'APPROVAL_STALE' } } })
    expect(service.received).toEqual([])
    expect((await platform.get(`/calls/${asked.call_id}`)).body.status).toBe('rejected')
  })

  test('is made if only the credential of the tool changed in the meantime', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const execute = (token: string) => ({ url: service.url, headers: { 'x-token': token } })
    const { id, caller, reviewer } = await gated(platform, service.url, { execute: execute('old-one') })

    const call = platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })
    const asked = await pending(platform)
    await platform.patch(`/tools/${id}`, { execute: execute('new-one') })
    await platform.post(`/approvals/${asked.id}/approve`, {}, { key: reviewer })

    expect((await call).status).toBe(200)
    expect(service.received[0]?.headers['x-token']).toBe('new-one')
  })

  test('can be withdrawn by its caller, and by nobody without permission', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url)
    const { caller: other } = await people(platform)

    const call = platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })
    const asked = await pending(platform)
    const seen = [
      (await platform.get(`/approvals/${asked.id}`, { key: caller })).status,
      (await platform.get(`/approvals/${asked.id}`, { key: other })).status,
      (await platform.post(`/approvals/${asked.id}/cancel`, {}, { key: other })).status,
      (await platform.post(`/approvals/${asked.id}/cancel`, {}, { key: caller })).status,
    ]

    expect(seen).toEqual([200, 404, 403, 200])
    expect((await call).body.error.code).toBe('APPROVAL_CANCELLED')
    expect((await platform.post(`/approvals/${asked.id}/cancel`, {}, { key: caller })).status).toBe(409)
  })

  test('made with wait: false ends as rejected once it is rejected', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)

    const call = { input: { city: 'x' }, wait: false }
    const { approval_id } = (await platform.post(`/tools/${id}/call`, call, { key: caller })).body
    const { call_id } = (await platform.post(`/approvals/${approval_id}/reject`, {}, { key: reviewer })).body

    const ended = await until(async () => {
      const { body } = await platform.get(`/calls/${call_id}`)
      return body.status === 'pending' ? undefined : body
    })
    expect(ended).toMatchObject({ status: 'rejected', error: { code: 'APPROVAL_REJECTED' } })
  })
})

describe('a reviewer', () => {
  test('can edit the arguments, which must be valid, and presets stay fixed', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const parameters = {
      type: 'object',
      properties: {
        amount: { type: 'number', maximum: 100 },
        account: { type: 'string' },
        password: { type: 'string', writeOnly: true },
      },
      required: ['amount', 'account'],
    }
    const fields = { parameters, preset_parameters: { account: 'main' } }
    const { id, caller, reviewer } = await gated(platform, service.url, fields)

    const call = platform.post(`/tools/${id}/call`, { input: { amount: 90, password: 'hush' } }, { key: caller })
    const { id: asked } = await pending(platform)
    const { input, preset_keys } = (await platform.get(`/approvals/${asked}`, { key: reviewer })).body
    const approve = (body: object) => platform.post(`/approvals/${asked}/approve`, body, { key: reviewer })
    const wrong = await approve({ input: { amount: 900, password: 7 } })
    const moved = await approve({ input: { amount: 9, note: '[redacted]' } })
    const status = (await platform.get(`/approvals/${asked}`)).body.status
    const right = await approve({ input: { amount: 9, account: 'another', password: '[redacted]' }, reason: 'Less' })

    expect({ input, preset_keys }).toEqual({
      input: { amount: 90, password: '[redacted]' },
      preset_keys: ['account'],
    })
    expect(wrong).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_FAILED' } } })
    expect(wrong.body.error.details.errors).toHaveLength(2)
    expect(moved.status).toBe(400)
    expect(status).toBe('pending')
    expect(right.body).toMatchObject({ edited_input: { amount: 9, password: '[redacted]' }, reason: 'Less' })
    expect((await call).status).toBe(200)
    expect(JSON.parse(service.received[0]?.body ?? '')).toEqual({ amount: 9, account: 'main', password: 'hush' })
  })

  test('gets an error if the approval was already decided or has expired', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url, { approval_timeout_seconds: 1 })
    const ask = async (city: string) =>
      (await platform.post(`/tools/${id}/call`, { input: { city }, wait: false }, { key: caller })).body.approval_id
    const decide = (approval: string, verb: string, key = reviewer) =>
      platform.post(`/approvals/${approval}/${verb}`, {}, { key })

    const one = await ask('a')
    await decide(one, 'approve')
    const twice = await decide(one, 'reject', adminKey)
    const late = await ask('b')
    await expect
      .poll(async () => (await platform.get(`/approvals/${late}`)).body.status, { timeout: 10_000 })
      .toBe('expired')
    const tooLate = await decide(late, 'approve')

    expect(twice).toMatchObject({ status: 409, body: { error: { code: 'APPROVAL_DECIDED' } } })
    expect(twice.body.error.message).toMatch(/"approved", set by Rita/)
    expect(tooLate.body.error).toMatchObject({ code: 'APPROVAL_DECIDED', details: { status: 'expired' } })
    expect(await decide('apr_none', 'approve')).toMatchObject({ status: 404 })
  })

  test('must not be the caller, must have the permission, and must be a person', async () => {
    await using service = await startService(() => ({ body: '"ok"' }))
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const call = { input: { city: 'x' }, wait: false }
    const own = (await platform.post(`/tools/${id}/call`, call)).body.approval_id
    const theirs = (await platform.post(`/tools/${id}/call`, call, { key: caller })).body.approval_id
    const approve = `/approvals/${theirs}/approve`
    const lineage = new Lineage((await platform.platform.store.settings.find('lineage_key')) ?? '')
    const within = { [lineageHeader]: lineage.print({ callId: 'call_x', depth: 0 }) }

    const answers = [
      await platform.post(`/approvals/${own}/approve`, {}),
      await platform.post(approve, {}, { key: caller }),
      await platform.post(approve, {}, { key: reviewer, headers: within }),
    ]

    expect(answers.map(({ body }) => body.error.code)).toEqual(['SELF_APPROVAL', 'FORBIDDEN', 'PERSON_REQUIRED'])
    const tool = { name: 'self', type: 'platform', actions: ['approve-call'] }
    expect(await platform.post('/tools', tool)).toMatchObject({ status: 400 })
    expect((await platform.get(`/approvals/${theirs}`)).body.status).toBe('pending')
  })

  test.each(['mcp', 'agent', 'workflow', 'xml'] as const)('cannot decide through the surface %s', async (surface) => {
    const context = { surface, parentCallId: null, generation: undefined } as unknown as Context

    await expect(approveCall.perform({ id: 'apr_1' }, context)).rejects.toMatchObject({ code: 'PERSON_REQUIRED' })
  })

  test('needs a second one if a rule requires two people, and both must approve the same arguments', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url, { auto_approve: true })
    const second = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
    await platform.post('/approval-rules', { name: 'two', expression: 'true', two_people: true })
    const call = platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })
    const { id: asked, args_hash } = await pending(platform)
    const approve = (key: string, body: object = {}) => platform.post(`/approvals/${asked}/approve`, body, { key })

    const answers = [
      await approve(reviewer),
      await approve(reviewer),
      await approve(second, { input: { city: 'y' } }),
      await approve(reviewer, { args_hash }),
      await approve(reviewer),
    ]

    expect(answers.map(({ status, body }) => body.error?.code ?? `${status} ${body.status}`)).toEqual([
      '200 pending',
      'SECOND_PERSON_REQUIRED',
      '200 pending',
      'APPROVAL_CHANGED',
      '200 approved',
    ])
    expect((await call).status).toBe(200)
    expect(JSON.parse(service.received[0]?.body ?? '')).toEqual({ city: 'y' })
    expect((await platform.get(`/approvals/${asked}`)).body.decisions).toHaveLength(3)
  })

  test('receives events for requests and decisions as they happen, without the arguments', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const stream = await platform.fetch('/api/v1/approvals/stream', {
      headers: { authorization: `Bearer ${reviewer}` },
    })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let heard = ''
    const hear = (words: string) =>
      until(async () => {
        if (!heard.includes(words)) heard += (await reader?.read())?.value ?? ''
        return heard.includes(words) || undefined
      })

    await hear('listening')
    const call = { input: { city: 'Recife' }, wait: false }
    const { approval_id } = (await platform.post(`/tools/${id}/call`, call, { key: caller })).body
    await hear('event: approval.requested')
    await platform.post(`/approvals/${approval_id}/reject`, { reason: 'no' }, { key: reviewer })
    await hear('event: approval.decided')

    expect(heard).toContain(`id: ${approval_id}`)
    expect(heard).not.toContain('Recife')
    await reader?.cancel()
  })

  test('can list a page from the middle of thousands of approvals, without the inputs', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller, reviewer } = await gated(platform, service.url)
    const large = { city: 'x'.repeat(2000) }
    const first = (await platform.post(`/tools/${id}/call`, { input: large, wait: false }, { key: caller })).body
    const { db } = platform.platform.store.engine
    const row = await db
      .selectFrom('approvals')
      .selectAll()
      .where('id', '=', first.approval_id)
      .executeTakeFirstOrThrow()
    for (let start = 0; start < 2000; start += 500) {
      const rows = Array.from({ length: 500 }, (_, n) => {
        const own = String(start + n).padStart(6, '0')
        return { ...row, id: `apr_0${own}`, call_id: `call_0${own}`, repeat_hash: own }
      })
      await db.insertInto('approvals').values(rows).execute()
    }

    const page = await platform.get('/approvals?status=pending&limit=50&offset=1000', { key: reviewer })

    expect(page.body).toMatchObject({ total: 2001, limit: 50 })
    expect(page.body.data).toHaveLength(50)
    expect(page.body.data[0]).not.toHaveProperty('input')
  })
})
