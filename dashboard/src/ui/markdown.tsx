import { createContext, type ReactNode, useContext } from 'react'

/** The preview ends after this many characters, about fifty printed pages. */
const maxLength = 100_000
/** The maximum nesting of quotes and lists. */
const deepest = 8

/**
 * Renders Markdown as React elements. HTML in the text stays text. Supports headings, lists, quotes, code, tables, links and
 * emphasis. Parsing takes linear time, also for malicious text.
 */
export const Markdown = ({ text, pageOf = noPage }: { text: string; pageOf?: PageOf }) => (
  <Pages value={pageOf}>
    <div className="prose">
      {blocks(text.slice(0, maxLength).replaceAll('\r\n', '\n'), 0)}
      {text.length > maxLength && <p className="text-soft">The preview ends here.</p>}
    </div>
  </Pages>
)

/** The dashboard page that a link leads to, if any. */
type PageOf = (target: string) => string | undefined
const noPage: PageOf = () => undefined
const Pages = createContext(noPage)

function blocks(text: string, depth: number): ReactNode[] {
  if (depth > deepest) return [text]
  const lines = text.split('\n')
  const result: ReactNode[] = []
  let at = 0
  const take = (fits: (line: string) => boolean): string[] => {
    const start = at
    while (at < lines.length && fits(lines[at] as string)) at++
    return lines.slice(start, at)
  }
  while (at < lines.length) {
    const line = lines[at] as string
    const key = at
    const heading = /^(#{1,6})\s+(.*)$/.exec(line)
    if (line.trim() === '') at++
    else if (/^\s*(```|~~~)/.test(line)) {
      const fence = line.trim().slice(0, 3)
      at++
      const code = take((next) => !next.trim().startsWith(fence))
      at++
      result.push(<CodeBlock key={key}>{code.join('\n')}</CodeBlock>)
    } else if (/^ {4}\S/.test(line)) {
      const code = take((next) => /^( {4}|\s*$)/.test(next)).map((next) => next.slice(4))
      result.push(<CodeBlock key={key}>{code.join('\n').trimEnd()}</CodeBlock>)
    } else if (heading) {
      at++
      result.push(<Heading key={key} level={heading[1]?.length ?? 1} text={heading[2] ?? ''} />)
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      at++
      result.push(<hr key={key} className="border-line" />)
    } else if (line.startsWith('>')) {
      const quoted = take((next) => next.startsWith('>')).map((next) => next.replace(/^> ?/, ''))
      result.push(<blockquote key={key}>{blocks(quoted.join('\n'), depth + 1)}</blockquote>)
    } else if (item.test(line)) {
      const items = take((next) => item.test(next) || (/^\s{2,}\S/.test(next) && next.trim() !== ''))
      result.push(<List key={key} lines={items} depth={depth} />)
    } else if (line.includes('|') && isRule(lines[at + 1] ?? '')) {
      const rows = take((next) => next.includes('|'))
      result.push(<TableBlock key={key} rows={rows} />)
    } else {
      const isText = (next: string) =>
        next.trim() !== '' && !/^(#{1,6}\s|>|\s*(```|~~~))/.test(next) && !item.test(next)
      const paragraph = take(isText)
      // A line that only looks like the start of another block is text.
      result.push(<p key={key}>{inline((paragraph.length > 0 ? paragraph : [lines[at++] as string]).join('\n'))}</p>)
    }
  }
  return result
}

const CodeBlock = ({ children }: { children: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
  <pre tabIndex={0}>
    <code>{children}</code>
  </pre>
)

const item = /^\s*([-*+]|\d{1,9}[.)])\s+/

function Heading({ level, text }: { level: number; text: string }) {
  const Tag = `h${Math.min(6, level + 1)}` as 'h2'
  return <Tag>{inline(text)}</Tag>
}

function List({ lines, depth }: { lines: readonly string[]; depth: number }) {
  if (depth > deepest) return <p>{lines.join('\n')}</p>
  const indent = /^\s*/.exec(lines[0] ?? '')?.[0].length ?? 0
  const groups: string[][] = []
  for (const line of lines) {
    const isOwn = item.test(line) && (/^\s*/.exec(line)?.[0].length ?? 0) <= indent
    if (isOwn || groups.length === 0) groups.push([line.replace(item, '')])
    else groups.at(-1)?.push(line)
  }
  const Tag = /^\s*\d/.test(lines[0] ?? '') ? 'ol' : 'ul'
  return (
    <Tag>
      {groups.map(([first = '', ...rest], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items are identified by their position
        <li key={index}>
          {inline(first)}
          {rest.length > 0 &&
            (rest.some((line) => item.test(line)) ? (
              <List lines={rest} depth={depth + 1} />
            ) : (
              inline(`\n${rest.join('\n')}`)
            ))}
        </li>
      ))}
    </Tag>
  )
}

function TableBlock({ rows }: { rows: readonly string[] }) {
  const cells = (row: string) =>
    row
      .trim()
      .replace(/^\||\|$/g, '')
      .split('|')
      .map((cell) => cell.trim())
  const [head = '', , ...body] = rows
  return (
    <table>
      <thead>
        <tr>
          {cells(head).map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: columns are identified by their position
            <th key={index}>{inline(cell)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {body.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows are identified by their position
          <tr key={index}>
            {cells(row).map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns are identified by their position
              <td key={column}>{inline(cell)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The separator line below a table header. */
const isRule = (line: string) =>
  line.includes('-') && line.length < 1000 && line.split('|').every((cell) => /^:?-*:?$/.test(cell.trim()))

/** Each alternative is bounded, so that a line of opening brackets is not scanned again from every one of them. */
const span = new RegExp(
  [
    '`([^`\\n]{1,400})`',
    '\\*\\*([^*\\n]{1,400})\\*\\*',
    '__([^_\\n]{1,400})__',
    '\\*([^*\\s][^*\\n]{0,400})\\*',
    '(?<!\\w)_([^_\\s][^_\\n]{0,400})_(?!\\w)',
    '\\[([^\\]\\n]{1,400})\\]\\(([^)\\s]{1,2000})\\)',
  ].join('|'),
  'g',
)

function inline(text: string): ReactNode[] {
  const result: ReactNode[] = []
  let end = 0
  for (const match of text.matchAll(span)) {
    const [whole, code, bold, bold2, italic, italic2, label, target] = match
    if (match.index > end) result.push(text.slice(end, match.index))
    const key = match.index
    if (code !== undefined) result.push(<code key={key}>{code}</code>)
    else if (bold ?? bold2) result.push(<strong key={key}>{inline(bold ?? bold2 ?? '')}</strong>)
    else if (italic ?? italic2) result.push(<em key={key}>{inline(italic ?? italic2 ?? '')}</em>)
    else result.push(<SafeLink key={key} label={label ?? ''} target={target ?? ''} />)
    end = match.index + whole.length
  }
  result.push(text.slice(end))
  return result
}

/** Only http, https and mailto links. Others, such as javascript:, stay text. */
function SafeLink({ label, target }: { label: string; target: string }) {
  const page = useContext(Pages)(target)
  if (page) return <a href={page}>{inline(label)}</a>
  if (!/^(https?:|mailto:)/i.test(target)) return <span title={target}>{inline(label)}</span>
  return (
    <a href={target} target="_blank" rel="noreferrer noopener">
      {inline(label)}
    </a>
  )
}
