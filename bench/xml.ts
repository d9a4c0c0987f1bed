/**
 * How long the parser of XML messages takes, whole and in small pieces, and how that grows with the size. Times are CPU time, so that
 * other work on the machine matters less.
 *
 *     npx node bench/xml.ts
 */
import { XmlParser } from '../src/xml/index.ts'

const call = (args: string) =>
  `<use_mcp_tool><server_name>s</server_name><tool_name>t</tool_name><arguments>${args}</arguments></use_mcp_tool>`

/** Messages that make a parser slow if it reads anything twice. */
const shapes: Record<string, (size: number) => string> = {
  'prose with calls': (size) => repeat(`Some text about things.\n${call('{"city":"Recife","days":5}')}\n`, size),
  'one large call': (size) => call(JSON.stringify({ code: repeat('if (a < b) { "x" }\n', size - 200) })),
  'closing tags in a string': (size) => call(JSON.stringify({ text: repeat('</arguments>', size - 200) })),
  'broken arguments': (size) => repeat(call('{"a":"open'), size),
  'stray backticks on one line': (size) => repeat('a ` b `` c ``` d ', size),
  'backticks of all lengths': (size) => allLengths(size),
  'blocks and backticks on one line': (size) => repeat(`${call('{}')} \` `, size),
  'open angle brackets': (size) => '<'.repeat(size),
  'open comments': (size) => repeat('<!-- ', size),
  'open comments in a block': (size) => `<use_mcp_tool>${repeat('<!-- ', size)}`,
  'open tags': (size) => repeat('<use_mcp_tool>', size),
  'open fences': (size) => repeat('```\na\n', size),
}

const repeat = (text: string, size: number) => text.repeat(Math.ceil(size / text.length)).slice(0, size)

function allLengths(size: number): string {
  let text = ''
  for (let length = 1; text.length < size; length++) text += `${'`'.repeat(length)} `
  return text.slice(0, size)
}

function timeOf(text: string, piece: number): number {
  const times = Array.from({ length: 5 }, () => {
    const parser = new XmlParser()
    const began = process.threadCpuUsage()
    for (let at = 0; at < text.length; at += piece) parser.push(text.slice(at, at + piece))
    parser.finish()
    const { user, system } = process.threadCpuUsage(began)
    return (user + system) / 1000
  })
  return Math.min(...times)
}

const megabyte = 1024 * 1024
console.log(
  'shape'.padEnd(36),
  '1 MB'.padStart(10),
  'by 5 chars'.padStart(12),
  '1 MB / 256 KB (linear: 4)'.padStart(28),
)
for (const [name, make] of Object.entries(shapes)) {
  const whole = timeOf(make(megabyte), megabyte)
  const quarter = timeOf(make(megabyte / 4), megabyte)
  const pieces = timeOf(make(megabyte), 5)
  const growth = (whole / quarter).toFixed(1)
  console.log(
    name.padEnd(36),
    `${whole.toFixed(1)} ms`.padStart(10),
    `${pieces.toFixed(1)} ms`.padStart(12),
    growth.padStart(28),
  )
}
