import { expect, test } from 'vitest'
import { encodeEvent } from './server-sent-event.ts'

test('an event contains its id and name if it has them, and one data line per line', () => {
  expect(encodeEvent('{"a":1}')).toBe('data: {"a":1}\n\n')
  expect(encodeEvent('{}', { name: 'message' })).toBe('event: message\ndata: {}\n\n')
  expect(encodeEvent('one\ntwo', { id: '7', name: 'text' })).toBe('id: 7\nevent: text\ndata: one\ndata: two\n\n')
})
