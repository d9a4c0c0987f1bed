import { describe, expect, test } from 'vitest'
import { startPlatform, startService, type TestPlatform } from './kit.ts'

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** A tool whose calls a person decides on, a caller and a reviewer. */
async function gated(platform: TestPlatform, url: string, fields: object = {}) {
  const tool = { name: 'pay', parameters: city, execute: { url }, auto_approve: false, ...fields }
  const made = await platform.post('/tools', tool)
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  const caller = await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool', 'servers:UseServer'] }])
  const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
  return { id: made.body.id as string, caller, reviewer }
}

const until = async <T>(look: () => Promise<T | undefined>): Promise<T> => {
  for (let tries = 0; tries < 300; tries++) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('it never came')
}

/** The approval that a call waits for, once there is one. */
const pending = (platform: TestPlatform) =>
  until(async () => (await platform.get('/approvals?status=pending')).body.data[0])

describe('a call that a person must approve', () => {
  test('waits, and is made once it is approved, not before (S4.22) (S4.23) (S4.24) (S4.25)', async () => {
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

  test('is not made when it is rejected, and the caller is told why (S4.26)', async () => {
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

  test('is rejected when nobody decides in time (S4.27) (S4.28)', async () => {
    await using service = await startService()
    await using platform = await startPlatform()
    const { id, caller } = await gated(platform, service.url, { approval_timeout_seconds: 1 })

    const { status, body } = await platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: caller })

    expect(status).toBe(403)
    expect(body.error.code).toBe('APPROVAL_EXPIRED')
    expect(service.received).toEqual([])
    expect((await platform.get('/approvals')).body.data).toMatchObject([{ status: 'expired' }])
  })

  test('need not be waited for: the same call, made again, is the one that was approved', async () => {
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
})
