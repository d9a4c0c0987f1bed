import { expect, test } from 'vitest'
import { Cached, type CachedOptions } from './cached.ts'
import { ChangeEvents, type Topic } from './change-events.ts'

/** A cache on in-process change events, and a load that the test resolves. */
function cacheOf(options: CachedOptions<string>) {
  const changes = new ChangeEvents({ hasPeers: false, subscribe: () => {}, publish: async () => {} })
  const cached = new Cached<string>(changes, options)
  const loads: PromiseWithResolvers<string | undefined>[] = []
  const load = () => {
    const one = Promise.withResolvers<string | undefined>()
    loads.push(one)
    return one.promise
  }
  return {
    cached,
    loads,
    find: (key: string) => cached.find(key, load),
    publish: (topic: Topic, ids: readonly string[]) => changes.publish(topic, ids),
  }
}

test('a value is loaded once and then returned from the cache', async () => {
  const { cached, loads, find } = cacheOf({})
  const found = find('a')
  expect(cached.peek('a')).toBeUndefined()
  loads[0]?.resolve('one')

  expect(await found).toBe('one')

  expect(cached.peek('a')).toBe('one')
  expect(await find('a')).toBe('one')
  expect(loads).toHaveLength(1)
})

test('concurrent callers with the same key share one load', async () => {
  const { loads, find } = cacheOf({})
  const found = Promise.all([find('a'), find('a'), find('b'), find('a')])
  loads[0]?.resolve('one')
  loads[1]?.resolve('two')

  expect(await found).toEqual(['one', 'one', 'two', 'one'])

  expect(loads).toHaveLength(2)
})

test.each([
  ['clearOn', 'any id', ['z']],
  ['clearOn', 'no ids', []],
  ['removeOn', 'its id', ['a']],
  ['removeOn', 'no ids', []],
] as const)('%s: an event with %s removes a value', async (option, _, ids) => {
  const { cached, loads, find, publish } = cacheOf({ [option]: ['tools'] })
  const first = find('a')
  loads[0]?.resolve('old')
  await first

  await publish('tools', ids)

  expect(cached.peek('a')).toBeUndefined()
  expect(cached.last('a')).toBeUndefined()
  const second = find('a')
  loads[1]?.resolve('new')
  expect(await second).toBe('new')
})

test('events with other ids or topics do not remove a value', async () => {
  const { cached, loads, find, publish } = cacheOf({ removeOn: ['tools'] })
  const found = find('a')
  await publish('tools', ['b'])
  loads[0]?.resolve('one')
  await found

  await publish('tools', ['b'])
  await publish('servers', ['a'])

  expect(cached.peek('a')).toBe('one')
})

test('a value that changes while it is loading is not cached, and later callers get the new one', async () => {
  const { cached, loads, find, publish } = cacheOf({ removeOn: ['tools'] })
  const before = find('a')
  await publish('tools', ['a'])
  const after = find('a')
  loads[1]?.resolve('new')
  expect(await after).toBe('new')
  loads[0]?.resolve('old')

  expect(await before).toBe('old')

  expect(cached.peek('a')).toBe('new')
})

test('a change between the end of a load and its use invalidates the value', async () => {
  const { cached, loads, find, publish } = cacheOf({ clearOn: ['tools'] })
  const found = find('a')
  loads[0]?.resolve('old')
  void publish('tools', [])

  expect(await found).toBe('old')

  expect(cached.peek('a')).toBeUndefined()
})

test('a load error reaches every waiting caller, and the next caller loads again', async () => {
  const { cached, loads, find } = cacheOf({})
  const failed = Promise.allSettled([find('a'), find('a')])
  loads[0]?.reject(new Error('no connection'))
  expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])

  const found = find('a')
  loads[1]?.resolve('one')

  expect(await found).toBe('one')
  expect(cached.peek('a')).toBe('one')
})

test('a missing value is not cached', async () => {
  const { loads, find } = cacheOf({})
  const first = find('a')
  loads[0]?.resolve(undefined)
  expect(await first).toBeUndefined()

  const second = find('a')
  loads[1]?.resolve('one')

  expect(await second).toBe('one')
})

test('a value is loaded again after its lifetime, and last() returns it until then', async () => {
  const { cached, loads, find } = cacheOf({ lifetime: (value) => (value === 'short' ? 0 : 60_000) })
  const first = find('a')
  loads[0]?.resolve('short')
  await first
  expect([cached.peek('a'), cached.last('a')]).toEqual([undefined, 'short'])

  const second = find('a')
  loads[1]?.resolve('long')
  await second

  expect(cached.peek('a')).toBe('long')
})

test('expire() expires the matching values and discards loads in progress', async () => {
  const { cached, loads, find } = cacheOf({})
  const both = Promise.all([find('a'), find('b')])
  loads[0]?.resolve('one')
  loads[1]?.resolve('two')
  await both
  const loading = find('c')

  cached.expire((value) => value === 'one')
  loads[2]?.resolve('three')
  await loading

  expect(['a', 'b', 'c'].map((key) => cached.peek(key))).toEqual([undefined, 'two', undefined])
  expect(cached.last('a')).toBe('one')
})
