import { afterEach, expect, test, vi } from 'vitest'
import { readEvents } from './streams.ts'

const streamOf = (pieces: readonly string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece))
      controller.close()
    },
  })

const all = (pieces: readonly string[]) => Array.fromAsync(readEvents(streamOf(pieces)))

afterEach(() => vi.restoreAllMocks())

test('events are the same wherever their text is split, with any kind of line break', async () => {
  const text = 'event: a\nid: 1\ndata: {"x":\ndata: 1}\n\n: nothing\n\ndata: "b\\n"\n\n\n\ndata: 3\n\ndata: cut o'
  const expected = [
    { name: 'a', id: '1', data: { x: 1 } },
    { name: 'message', id: undefined, data: 'b\n' },
    { name: 'message', id: undefined, data: 3 },
  ]
  for (const lineBreak of ['\n', '\r\n', '\r']) {
    const sent = text.replaceAll('\n', lineBreak)
    expect(await all([sent])).toEqual(expected)
    expect(await all([...sent])).toEqual(expected)
    for (let at = 1; at < sent.length; at++) expect(await all([sent.slice(0, at), sent.slice(at)])).toEqual(expected)
  }
})

test('an event that arrives in many pieces is scanned once, not once per piece', async () => {
  const pieces = ['data: "', ...Array.from({ length: 2000 }, () => 'x'.repeat(1000)), '"\n\n']
  const size = pieces.join('').length
  let seen = 0
  const { replaceAll, split } = String.prototype
  vi.spyOn(String.prototype, 'replaceAll').mockImplementation(function (this: string, ...given) {
    seen += this.length
    return Reflect.apply(replaceAll, this, given)
  })
  vi.spyOn(String.prototype, 'split').mockImplementation(function (this: string, ...given) {
    seen += this.length
    return Reflect.apply(split, this, given)
  })

  const [event] = await all(pieces)

  expect(String(event?.data)).toHaveLength(2_000_000)
  expect(seen).toBeLessThan(5 * size)
})
