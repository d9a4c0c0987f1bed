import { expect, test } from 'vitest'
import { argumentLines } from './arguments-line.ts'

const refund = (id: string, input: Record<string, unknown>) => ({ id, action: 'tools:refund', input })

test('arguments that differ among calls of one action come first and are marked', () => {
  const lines = argumentLines([
    refund('a', { currency: 'EUR', order: 'A-17', amount: 20 }),
    refund('b', { currency: 'EUR', order: 'A-18', amount: 20, note: 'broken' }),
    { id: 'c', action: 'tools:send', input: { order: 'A-19' } },
  ])

  expect(lines.get('a')).toEqual([
    { name: 'order', value: 'A-17', differs: true },
    { name: 'currency', value: 'EUR', differs: false },
    { name: 'amount', value: '20', differs: false },
  ])
  expect(lines.get('b')?.filter(({ differs }) => differs)).toEqual([
    { name: 'order', value: 'A-18', differs: true },
    { name: 'note', value: 'broken', differs: true },
  ])
  expect(lines.get('c')).toEqual([{ name: 'order', value: 'A-19', differs: false }])
})

test('long values are cut, objects are JSON, and invisible characters are spelled out', () => {
  const [first, second, third] =
    argumentLines([refund('a', { text: 'x'.repeat(500), who: { name: 'Ada' }, sly: 'a\u202eb' })]).get('a') ?? []

  expect(first?.value).toBe(`${'x'.repeat(60)}…`)
  expect(second?.value).toBe('{"name":"Ada"}')
  expect(third?.value).toBe('a\\u{202e}b')
})
