import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { Markdown } from './markdown.tsx'

const html = (text: string) => renderToStaticMarkup(<Markdown text={text} />)

test('Markdown of skills is rendered', () => {
  const shown = html(
    '# Steps\n\n1. *Ask* for `it`\n2. **Do** it\n   - twice\n\n> Mind\n\n```\n# code\n```\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n---\n\n[on](https://example.com/x)',
  )

  expect(shown).toContain('<h2>Steps</h2>')
  expect(shown).toContain('<ol><li><em>Ask</em> for <code>it</code></li>')
  expect(shown).toContain('<li><strong>Do</strong> it<ul><li>twice</li></ul></li>')
  expect(shown).toContain('<blockquote><p>Mind</p></blockquote>')
  expect(shown).toContain('<pre tabindex="0"><code># code</code></pre>')
  expect(shown).toContain('<th>a</th>')
  expect(shown).toContain('<td>2</td>')
  expect(shown).toContain('<hr')
  expect(shown).toContain('<a href="https://example.com/x" target="_blank" rel="noreferrer noopener">on</a>')
})

test('HTML stays text, and no link runs a script', () => {
  const shown = html(
    '<script>alert(1)</script> <b onclick=x>\n\n[a](javascript:alert(1)) [b](data:text/html,x) ![c](https://example.com/c.png)',
  )

  expect(shown).not.toMatch(/<script|<b |<img|href="(javascript|data)/)
  expect(shown).toContain('&lt;script&gt;')
})

test.each([
  ['opening brackets', '['.repeat(200_000)],
  ['stars', '*a '.repeat(70_000)],
  ['backticks', '`a'.repeat(100_000)],
  ['quotes in quotes', '>'.repeat(100_000)],
  ['lists in lists', Array.from({ length: 400 }, (_, n) => `${' '.repeat(n * 2)}- x`).join('\n')],
  ['spaces below a bar', `a|b\n${' '.repeat(100_000)}x`],
  ['hashes', `# ${'#'.repeat(100_000)}x`],
  ['an open fence', `\`\`\`\n${'x\n'.repeat(50_000)}`],
])('very long %s are rendered', (_, text) => {
  // Quadratic time would exceed the timeout of the test.
  expect(html(text)).not.toBe('')
})

test('indented lines are code, and links between guides lead to pages of the dashboard', () => {
  const shown = renderToStaticMarkup(
    <Markdown
      text={'Run:\n\n    npm start\n\n[next](next.md) [odd](odd.md)'}
      pageOf={(target) => (target === 'next.md' ? '/help/next' : undefined)}
    />,
  )

  expect(shown).toContain('<code>npm start</code>')
  expect(shown).toContain('<a href="/help/next">next</a>')
  expect(shown).toContain('<span title="odd.md">odd</span>')
})
