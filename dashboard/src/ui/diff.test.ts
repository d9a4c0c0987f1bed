import { expect, test } from 'vitest'
import { diff } from './diff.tsx'

test('a change is told word by word, in the text around it', () => {
  expect(diff('Sends a mail to one person.', 'Sends a mail to many people.')).toEqual([
    { kind: 'same', text: 'Sends a mail to ' },
    { kind: 'gone', text: 'one person' },
    { kind: 'new', text: 'many people' },
    { kind: 'same', text: '.' },
  ])
})

test('what came at the end, and cannot be seen, is told, too', () => {
  expect(diff('Reads.', 'Reads.\u200b')).toEqual([
    { kind: 'same', text: 'Reads.' },
    { kind: 'new', text: '⟨U+200B⟩' },
  ])
})

test('the parts make up both texts again, whatever they are', () => {
  const words = ['a', 'b', ' ', ', ', '\n', 'word', '"', '{}', 'é']
  const text = (seed: number, length: number) =>
    Array.from({ length }, (_, at) => words[(seed * 31 + at * at * 7 + seed * at) % words.length]).join('')
  for (let seed = 0; seed < 200; seed++) {
    const [before, after] = [text(seed, seed % 40), text(seed + 1, (seed * 3) % 50)]
    const parts = diff(before, after)
    const without = (kind: string) => parts.flatMap((part) => (part.kind === kind ? [] : [part.text])).join('')
    expect([without('new'), without('gone')]).toEqual([before, after])
  }
})

test('texts that have nothing in common are told as such, however long they are', () => {
  const [before, after] = ['old '.repeat(20_000), 'new '.repeat(20_000)]
  expect(diff(before, after)).toEqual([
    { kind: 'gone', text: before },
    { kind: 'new', text: after },
  ])
})
