import { expect, test } from 'vitest'
import { EventStream } from './event-stream.ts'

const text =
  'retry: 50\nid: 1\ndata:\n\n: a comment\r\nevent: message\r\nid: 2\r\ndata: {"a":\r\ndata: "é"}\r\n\r\ndata:x\n\n'

function read(parts: Buffer[]) {
  const seen: string[] = []
  const stream = new EventStream((data) => seen.push(data))
  for (const part of parts) stream.feed(part)
  return { seen, lastId: stream.lastId, retryMs: stream.retryMs }
}

test('the data lines of an event are joined, and the last event id is kept', () => {
  expect(read([Buffer.from(text)])).toEqual({ seen: ['{"a":\n"é"}', 'x'], lastId: '2', retryMs: 50 })
})

test('a stream gives the same events wherever it is split, even inside a character', () => {
  const bytes = Buffer.from(text)
  const single = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1))

  expect(read(single)).toEqual(read([bytes]))
})
