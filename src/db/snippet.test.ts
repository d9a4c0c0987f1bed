import { expect, test } from 'vitest'
import { snippetOf } from './snippet.ts'

test('the first place that fits is shown in bold, with what stands around it', () => {
  const text = `${'Other words. '.repeat(40)}Our policy on refunds is short. ${'More follows. '.repeat(40)}`

  const snippet = snippetOf(text, ['policies', 'refund'])

  expect(snippet).toMatch(/^….*Our \*\*policy\*\* on \*\*refunds\*\* is short\..*…$/)
  expect(snippet.length).toBeLessThan(300)
})

test('where no word is found, and where words hold signs, the beginning is shown', () => {
  expect(snippetOf('A short text', ['unheard'])).toBe('A short text')
  expect(snippetOf('A short text', [])).toBe('A short text')
  expect(snippetOf('a (b) c', ['[', '$', '<->'])).toBe('a (b) c')
})
