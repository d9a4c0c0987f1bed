import { afterEach, expect, test, vi } from 'vitest'
import { apiKeyAuthenticator } from '../src/access/authenticator.ts'
import { hashKey, Keys } from '../src/access/keys.ts'
import type { Store } from '../src/store/store.ts'
import { freshStore } from './engines.ts'

/** The changes of its key that an open stream is notified of. */

afterEach(() => {
  vi.useRealTimers()
})

const headers = { authorization: 'Bearer sk_1' }
const day = 24 * 60 * 60 * 1000

async function withKey(store: Store, expires_at: number | null = null) {
  const document = { statement: [{ effect: 'Allow' as const, action: ['tools:*'], resource: ['*'] }] }
  const [own, other] = await Promise.all(
    ['own', 'other'].map((name) =>
      store.accessPolicies.create({ project_id: null, name, description: null, document }),
    ),
  )
  await store.apiKeys.create({
    ...{ id: 'key_1', name: 'of a test', project_id: null, key_hash: hashKey('sk_1'), key_prefix: 'sk_1' },
    ...{ access_policy_ids: [own?.id ?? ''], rate_limit: null, expires_at },
  })
  const authenticator = apiKeyAuthenticator(new Keys(store), store.changes)
  const principal = await authenticator.authenticate(headers)
  let count = 0
  const stop = authenticator.onChange(principal, () => count++)
  return { authenticator, stop, told: () => count, own: own?.id ?? '', other: other?.id ?? '' }
}

test('subscribers are notified of changes to a key and its policies, and not of changes to others', async () => {
  await using fresh = await freshStore('sqlite')
  const { store } = fresh
  const { told, own, other, stop } = await withKey(store)

  await store.changes.publish('access_policies', [other])
  await store.changes.publish('api_keys', ['key_2'])
  const afterOthers = told()
  await store.changes.publish('access_policies', [own])
  await store.changes.publish('api_keys', ['key_1'])
  const afterOwn = told()
  await store.changes.publish('api_keys', [])
  const afterAny = told()
  stop()
  await store.changes.publish('api_keys', ['key_1'])

  expect([afterOthers, afterOwn, afterAny, told()]).toEqual([0, 2, 3, 3])
})

test('subscribers are notified when a key expires, even months later, and no earlier', async () => {
  await using fresh = await freshStore('sqlite')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  const { authenticator, told } = await withKey(fresh.store, Date.now() + 60 * day)

  vi.advanceTimersByTime(59 * day)
  const before = [told(), (await authenticator.principal('key_1'))?.id]
  vi.advanceTimersByTime(day)
  const after = [told(), (await authenticator.principal('key_1'))?.id]

  expect([before, after]).toEqual([
    [0, 'key_1'],
    [1, undefined],
  ])
})

test('a key that is revoked while it is being read is not accepted afterwards', async () => {
  await using fresh = await freshStore('sqlite')
  const { store } = fresh
  const { authenticator } = await withKey(store)
  await store.changes.publish('api_keys', [])

  const reading = authenticator.authenticate(headers).catch(() => undefined)
  await store.apiKeys.remove('key_1')
  await reading

  await expect(authenticator.authenticate(headers)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
})
