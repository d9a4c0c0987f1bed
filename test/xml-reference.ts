/** A parser of whole messages, written for clarity and not for speed. The tests compare the real one with it. */
import { type Block, type BlockTag, blockParameters, parseJson, readBlock } from '../src/xml/block.ts'
import { joined, type Quotation, type XmlEvent } from '../src/xml/parser.ts'

export function referenceParse(text: string, fenced: 'skip' | 'run', markdown = true): XmlEvent[] {
  const events: XmlEvent[] = []
  let textFrom = 0
  const flush = (to: number) => {
    if (to > textFrom) events.push({ kind: 'text', text: text.slice(textFrom, to) })
    textFrom = to
  }
  const quoted = (from: number, to: number) =>
    referenceParse(text.slice(from, to), 'skip', false).map((event): XmlEvent => {
      const shift = <B extends Block>(block: B) => ({ ...block, start: block.start + from, end: block.end + from })
      if (event.kind === 'text') return event
      return event.kind === 'call' ? { ...event, call: shift(event.call) } : { ...event, block: shift(event.block) }
    })
  const skip = (from: number, to: number, inside: Quotation) => {
    for (const event of quoted(from, to)) {
      if (event.kind !== 'call' && event.kind !== 'invalid') continue
      const { tag, parameters, start, end } = event.kind === 'call' ? event.call : event.block
      flush(from)
      events.push({ kind: 'skipped', block: { tag, parameters, start, end }, inside })
    }
  }

  let at = 0
  while (at < text.length) {
    const rest = text.slice(at)
    const opener = /^<(use_mcp_tool|access_mcp_resource)>/.exec(rest)
    if (opener) {
      flush(at)
      const read = blockAt(text, at, opener[1] as BlockTag)
      events.push(read.event)
      at = read.end
      textFrom = at
      continue
    }
    if (!markdown) {
      at++
      continue
    }
    const comment = /^<!--([\s\S]*?)-->/.exec(rest)
    if (comment) {
      skip(at + 4, at + 4 + (comment[1] ?? '').length, 'comment')
      at += comment[0].length
      continue
    }
    if (rest.startsWith('<!--')) {
      at += 4
      continue
    }
    if (/^\\[\\`]/.test(rest)) {
      at += 2
      continue
    }
    const isLineStart =
      /(^|\n) {0,3}$/.test(text.slice(Math.max(0, at - 4), at)) && !/[^\n ]/.test(lineBefore(text, at))
    const fence = isLineStart ? /^(`{3,})[^`\n]*(\n|$)|^(~{3,})[^\n]*(\n|$)/.exec(rest) : null
    if (fence) {
      const marks = (fence[1] ?? fence[3]) as string
      const close = new RegExp(`(?<=^|\\n) {0,3}${marks[0]}{${marks.length},}[ \\t\\r]*(\\n|$)`, 'g')
      close.lastIndex = fence[0].length
      const closed = rest.endsWith('\n') && fence[0].length === rest.length ? null : close.exec(rest)
      const contentStart = at + fence[0].length
      const contentEnd = closed ? at + closed.index : text.length
      if (fenced === 'run') {
        flush(contentStart)
        events.push(...quoted(contentStart, contentEnd))
        textFrom = contentEnd
      } else skip(contentStart, contentEnd, 'code fence')
      at = closed ? at + closed.index + closed[0].length : text.length
      continue
    }
    const run = /^`+/.exec(rest)?.[0]
    if (run) {
      const line = rest.split('\n', 1)[0] as string
      const span = new RegExp(`^${run}(?!\`)(.*?[^\`])${run}(?!\`)`, 's').exec(line)
      if (span) {
        const length = (span[1] ?? '').length
        skip(at + run.length, at + run.length + length, 'inline code')
        at += span[0].length
      } else at += run.length
      continue
    }
    at++
  }
  flush(text.length)
  return joined(events)
}

const lineBefore = (text: string, at: number) => text.slice(text.lastIndexOf('\n', at - 1) + 1, at)

function blockAt(text: string, start: number, tag: BlockTag): { event: XmlEvent; end: number } {
  const parameters: Record<string, string> = {}
  const repeated = new Set<string>()
  const cutOff = () => ({
    event: { kind: 'incomplete', block: { tag, start, end: text.length, parameters } } as XmlEvent,
    end: text.length,
  })
  let at = start + tag.length + 2
  for (;;) {
    const open = text.indexOf('<', at)
    if (open === -1) return cutOff()
    const rest = text.slice(open)
    if (rest.startsWith(`</${tag}>`)) {
      const end = open + tag.length + 3
      const block = { tag, start, end, parameters }
      const read = readBlock(block, repeated)
      return { event: 'call' in read ? { kind: 'call', call: read.call } : { kind: 'invalid', block, ...read }, end }
    }
    if (/^<(use_mcp_tool|access_mcp_resource)>/.test(rest)) {
      const faults = [{ parameter: '', message: `is not closed: </${tag}> is missing before the next block` }]
      return { event: { kind: 'invalid', block: { tag, start, end: open, parameters }, faults }, end: open }
    }
    if (rest.startsWith('<!--')) {
      const end = text.indexOf('-->', open + 4)
      at = end === -1 ? open + 4 : end + 3
      continue
    }
    const name = blockParameters[tag].find((known) => rest.startsWith(`<${known}>`))
    if (!name) {
      at = open + 1
      continue
    }
    const from = open + name.length + 2
    const end = name === 'arguments' ? argumentsEnd(text, from) : text.indexOf(`</${name}>`, from)
    if (end === -1) return cutOff()
    if (name in parameters) repeated.add(name)
    parameters[name] = text.slice(from, end).trim()
    at = end + name.length + 3
  }
}

/** Tries each closing tag until the text before it is a JSON object. */
function argumentsEnd(text: string, from: number): number {
  const closing = '</arguments>'
  for (let end = text.indexOf(closing, from); end !== -1; end = text.indexOf(closing, end + 1)) {
    const value = text.slice(from, end).replace(/^[ \n\r\t]+/, '')
    if (value.startsWith('{') && parseJson(value).error === undefined) return end
  }
  return text.indexOf(closing, from)
}
