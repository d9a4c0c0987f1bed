import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ManyTexts } from './many-texts.ts'

const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), maxLength: 200 })
const wanted = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'é', '😀'), minLength: 2, maxLength: 6 }), {
  minLength: 1,
  maxLength: 20,
})

test('finds the same matches as a separate search at every position', () => {
  fc.assert(
    fc.property(letters, wanted, (text, unsorted) => {
      const texts = [...new Set(unsorted)].sort((a, b) => b.length - a.length)
      let expected = ''
      for (let at = 0; at < text.length; ) {
        const found = texts.find((one) => text.startsWith(one, at))
        expected += found === undefined ? text[at] : '#'
        at += found?.length ?? 1
      }

      expect(new ManyTexts(texts).replaceAll(text, '#')).toBe(expected)
    }),
  )
})

test('a text without a match is returned unchanged', () => {
  expect(new ManyTexts(['secret']).replaceAll('nothing here', '#')).toBe('nothing here')
})
