import { expect, test } from 'vitest'
import { snippetOf } from './snippet.ts'

test('the first match is shown in bold with the text around it', () => {
  const text = `${'Other words. '.repeat(40)}Our policy on refunds is short. ${'More follows. '.repeat(40)}`

  const snippet = snippetOf(text, ['policies', 'refund'])

  expect(snippet).toMatch(/^….*Our \*\*policy\*\* on \*\*refunds\*\* is short\..*…$/)
  expect(snippet.length).toBeLessThan(300)
})

test('a snippet shows the start of the text if no word matches or if the words contain punctuation', () => {
  expect(snippetOf('A short text', ['unheard'])).toBe('A short text')
  expect(snippetOf('A short text', [])).toBe('A short text')
  expect(snippetOf('a (b) c', ['[', '$', '<->'])).toBe('a (b) c')
})
