import { expect, test } from 'vitest'
import { diff } from './diff.tsx'

test('a change is shown word by word, within the surrounding text', () => {
  expect(diff('Sends a mail to one person.', 'Sends a mail to many people.')).toEqual([
    { kind: 'same', text: 'Sends a mail to ' },
    { kind: 'removed', text: 'one person' },
    { kind: 'added', text: 'many people' },
    { kind: 'same', text: '.' },
  ])
})

test('an invisible character added at the end is shown', () => {
  expect(diff('Reads.', 'Reads.\u200b')).toEqual([
    { kind: 'same', text: 'Reads.' },
    { kind: 'added', text: '⟨U+200B⟩' },
  ])
})

test('the parts add up to both texts, whatever they contain', () => {
  const words = ['a', 'b', ' ', ', ', '\n', 'word', '"', '{}', 'é']
  const text = (seed: number, length: number) =>
    Array.from({ length }, (_, at) => words[(seed * 31 + at * at * 7 + seed * at) % words.length]).join('')
  for (let seed = 0; seed < 200; seed++) {
    const [before, after] = [text(seed, seed % 40), text(seed + 1, (seed * 3) % 50)]
    const parts = diff(before, after)
    const without = (kind: string) => parts.flatMap((part) => (part.kind === kind ? [] : [part.text])).join('')
    expect([without('added'), without('removed')]).toEqual([before, after])
  }
})

test('texts without anything in common are shown as replaced, however long they are', () => {
  const [before, after] = ['old '.repeat(20_000), 'new '.repeat(20_000)]
  expect(diff(before, after)).toEqual([
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ])
})
