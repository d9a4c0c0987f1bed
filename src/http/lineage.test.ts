import { expect, test } from 'vitest'
import { Lineage } from './lineage.ts'

const lineage = new Lineage('a'.repeat(43))

test('a returning call is recognized by its signed header, one level deeper', () => {
  const header = lineage.print({ callId: 'call_1', depth: 3 })

  expect(lineage.read(header)).toEqual({ parentCallId: 'call_1', depth: 4 })
})

test.each([
  undefined,
  '',
  'call_1.3',
  `call_1.3.${'A'.repeat(22)}`,
  lineage.print({ callId: 'call_1', depth: 3 }).replace('.3.', '.0.'),
  lineage.print({ callId: 'call_1', depth: 3 }).replace('call_1', 'call_2'),
  new Lineage('b'.repeat(43)).print({ callId: 'call_1', depth: 3 }),
])('a missing, altered or foreign lineage header is ignored: %s', (header) => {
  expect(lineage.read(header)).toBeUndefined()
})
