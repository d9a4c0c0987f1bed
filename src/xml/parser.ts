import {
  type Block,
  type BlockFault,
  type BlockTag,
  blockParameters,
  parseJson,
  readBlock,
  type XmlCall,
} from './block.ts'
import { JsonEnd } from './json-end.ts'
import { Markdown, newline, type Reading, tick, tilde } from './markdown.ts'
import { Source } from './source.ts'

/** Where a block stands that is quoted and not meant to be run. */
export type Quotation = 'code fence' | 'inline code' | 'comment'

export type XmlEvent =
  | { readonly kind: 'text'; readonly text: string }
  /** A complete block. */
  | { readonly kind: 'call'; readonly call: XmlCall }
  /** A complete block with faults, or one that another block interrupts. */
  | { readonly kind: 'invalid'; readonly block: Block; readonly faults: readonly BlockFault[] }
  /** A complete block that is quoted. */
  | { readonly kind: 'skipped'; readonly block: Block; readonly inside: Quotation }
  /** A block that the end of the message cuts off. */
  | { readonly kind: 'incomplete'; readonly block: Block }

/** A block that is being received. `current` is the parameter that has begun and not ended. */
export interface PartialBlock {
  readonly tag: BlockTag
  readonly parameters: Readonly<Record<string, string>>
  readonly current?: { readonly name: string; readonly text: string }
}

export interface ParserOptions {
  /** What to do with blocks in code fences. By default, they are skipped. */
  readonly fenced?: 'skip' | 'run'
}

interface OpenBlock {
  readonly tag: BlockTag
  readonly start: number
  readonly parameters: Record<string, string>
  readonly repeated: Set<string>
  current?: { readonly name: string; readonly from: number } | undefined
}

const tags = Object.keys(blockParameters) as BlockTag[]
const opening = new Map(tags.map((tag) => [`<${tag}>`, tag]))
const commentStart = '<!--'
const commentEnd = '-->'
const openingTags = [...opening.keys()]
const tagsAndComments = [...openingTags, commentStart]

/** What ends or continues a block of each kind. */
const insides = new Map(
  tags.map((tag) => {
    const closing = `</${tag}>`
    const names = new Map(blockParameters[tag].map((name) => [`<${name}>`, name as string]))
    return [tag, { closing, names, known: [closing, commentStart, ...names.keys(), ...openingTags] }]
  }),
)

type Inside = NonNullable<ReturnType<typeof insides.get>>

const less = 0x3c
const openBrace = 0x7b
const backslash = 0x5c

/**
 * Finds `use_mcp_tool` and `access_mcp_resource` blocks in the text of an assistant. Feed it pieces of any size with
 * `push`, then call `finish`. The events do not depend on where the message is cut, except that text comes in pieces.
 *
 * Blocks in code or comments are quoted, so they are skipped. A tag with attributes or spaces is text, like any unknown
 * tag. `arguments` ends where its JSON object ends, whatever the strings in it contain; if it is not a JSON object, it ends
 * at the first closing tag. Time and memory are linear in the size of the message.
 */
export class XmlParser {
  readonly #source = new Source()
  readonly #markdown: Markdown | undefined
  readonly #fenced: 'skip' | 'run'
  readonly #reading: Reading<void>
  #events: XmlEvent[] = []
  #textFrom = 0
  #block: OpenBlock | undefined
  /** No comment ends in the rest of the message, so it is not searched again. */
  #noCommentEnds = false

  constructor({ fenced = 'skip', markdown = true }: ParserOptions & { markdown?: boolean } = {}) {
    this.#fenced = fenced
    this.#markdown = markdown ? new Markdown(this.#source) : undefined
    this.#reading = this.#message()
  }

  /** Takes the next piece of the message, and returns what it completes. */
  push(text: string): XmlEvent[] {
    this.#source.append(text)
    return this.#advance()
  }

  /** The message is over. Text that was held back follows, and a block that was not closed. */
  finish(): XmlEvent[] {
    this.#source.ended = true
    return this.#advance()
  }

  /** The block that is being received. Costs as much as the block is long, so do not read it after every character. */
  get partial(): PartialBlock | undefined {
    if (!this.#block) return undefined
    const { tag, parameters, current } = this.#block
    const text = current && this.#source.slice(current.from, this.#source.length)
    return {
      tag,
      parameters: { ...parameters },
      ...(current && { current: { name: current.name, text: withoutTag(text ?? '', `</${current.name}>`) } }),
    }
  }

  #advance(): XmlEvent[] {
    this.#reading.next()
    const events = this.#events
    this.#events = []
    return events
  }

  *#message(): Reading<void> {
    for (let position = 0; ; ) {
      position = this.#skipText(position)
      if (position >= this.#source.length) {
        this.#text(position)
        if (this.#source.ended) return
        yield
        continue
      }
      const code = this.#source.at(position)
      if (code === less) position = this.#isPlain(position) ? position + 1 : yield* this.#tag(position)
      else if (code === backslash) position = yield* this.#escape(position)
      else position = yield* this.#code(position)
    }
  }

  /** The next position that may not be ordinary text. */
  #skipText(from: number): number {
    const source = this.#source
    const { length } = source
    let position = from
    for (; position < length; position++) {
      const code = source.at(position)
      if (code === less) break
      if (this.#markdown && (code === tick || code === tilde || code === backslash)) break
    }
    return position
  }

  /** `\`` is not the start of code. */
  *#escape(position: number): Reading<number> {
    while (position + 1 >= this.#source.length && !this.#source.ended) yield
    const next = this.#source.at(position + 1)
    return next === tick || next === backslash ? position + 2 : position + 1
  }

  *#code(position: number): Reading<number> {
    const markdown = this.#markdown as Markdown
    const fence = yield* markdown.fence(position)
    if (fence) {
      const { contentStart, contentEnd, end } = fence
      if (this.#fenced === 'run') this.#runQuoted(contentStart, contentEnd)
      else this.#skipQuoted(contentStart, contentEnd, 'code fence')
      return end
    }
    if (this.#source.at(position) === tilde) return position + 1
    const { length, end } = yield* markdown.span(position)
    if (end === undefined) return position + length
    this.#skipQuoted(position + length, end - length, 'inline code')
    return end
  }

  /** Whether a `<` is the start of nothing that matters, which its next character mostly shows. */
  #isPlain(position: number): boolean {
    const next = this.#source.at(position + 1)
    return next !== -1 && !tagsAndComments.some((text) => text.charCodeAt(1) === next)
  }

  *#tag(position: number): Reading<number> {
    const found = yield* this.#match(position, this.#markdown ? tagsAndComments : openingTags)
    if (found === undefined) return position + 1
    if (found === commentStart) {
      const start = position + commentStart.length
      const end = yield* this.#commentEnd(start)
      // A comment that is never closed is text.
      if (end === undefined) return start
      this.#skipQuoted(start, end - commentEnd.length, 'comment')
      return end
    }
    this.#text(position)
    return yield* this.#readBlock(opening.get(found) as BlockTag, position)
  }

  *#readBlock(tag: BlockTag, start: number): Reading<number> {
    const block: OpenBlock = { tag, start, parameters: {}, repeated: new Set() }
    this.#block = block
    const { closing, names, known } = insides.get(tag) as Inside
    for (let position = start + tag.length + 2; ; ) {
      position = yield* this.#find('<', position)
      if (position === -1) return this.#cutOff(block)
      const found = yield* this.#match(position, known)
      if (found === undefined) position += 1
      else if (found === closing) return this.#endBlock(block, position + closing.length)
      else if (found === commentStart) {
        const start = position + commentStart.length
        position = (yield* this.#commentEnd(start)) ?? start
      } else if (names.has(found)) {
        const name = names.get(found) as string
        const from = position + found.length
        block.current = { name, from }
        const end = name === 'arguments' ? yield* this.#argumentsEnd(from) : yield* this.#find(`</${name}>`, from)
        if (end === -1) return this.#cutOff(block)
        block.current = undefined
        if (Object.hasOwn(block.parameters, name)) block.repeated.add(name)
        block.parameters[name] = this.#source.slice(from, end).trim()
        position = end + name.length + 3
      } else return this.#interrupted(block, position)
    }
  }

  *#commentEnd(from: number): Reading<number | undefined> {
    const found = this.#noCommentEnds ? -1 : yield* this.#find(commentEnd, from)
    this.#noCommentEnds = found === -1
    return found === -1 ? undefined : found + commentEnd.length
  }

  /** The position of `</arguments>`. */
  *#argumentsEnd(from: number): Reading<number> {
    const source = this.#source
    const closing = '</arguments>'
    const start = yield* this.#skipSpace(from)
    if (source.at(start) === openBrace) {
      const json = new JsonEnd()
      for (let position = start; ; position++) {
        while (position >= source.length && !source.ended) yield
        const state = position < source.length ? json.take(source.at(position)) : 'invalid'
        if (state === 'invalid') break
        if (state === 'open') continue
        const end = yield* this.#skipSpace(position + 1)
        const isClosed = (yield* this.#match(end, [closing])) !== undefined
        if (isClosed && parseJson(source.slice(start, position + 1)).error === undefined) return end
        break
      }
    }
    return yield* this.#find(closing, from)
  }

  *#skipSpace(from: number): Reading<number> {
    for (let position = from; ; position++) {
      while (position >= this.#source.length && !this.#source.ended) yield
      const code = this.#source.at(position)
      if (code !== 0x20 && code !== newline && code !== 0x0d && code !== 0x09) return position
    }
  }

  /** Which of the texts stands at a position. */
  *#match(position: number, texts: readonly string[]): Reading<string | undefined> {
    for (let candidates = texts; ; ) {
      const next = this.#source.at(position + 1)
      if (next !== -1 && !candidates.some((text) => text.charCodeAt(1) === next)) return undefined
      const results = candidates.map((text) => this.#source.compare(text, position))
      const equal = results.indexOf('equal')
      if (equal !== -1) return candidates[equal]
      candidates = candidates.filter((_, index) => results[index] === 'unknown')
      if (candidates.length === 0) return undefined
      yield
    }
  }

  /** The first position of a text, or -1 if the rest of the message does not have it. */
  *#find(text: string, from: number): Reading<number> {
    for (let start = from; ; ) {
      const found = this.#source.indexOf(text, start)
      if (found !== -1 || this.#source.ended) return found
      start = Math.max(from, this.#source.length - text.length + 1)
      yield
    }
  }

  /** Reports the text up to a position. */
  #text(to: number): void {
    if (to > this.#textFrom) this.#events.push({ kind: 'text', text: this.#source.slice(this.#textFrom, to) })
    this.#textFrom = to
  }

  #endBlock(open: OpenBlock, end: number): number {
    const block = this.#close(open, end)
    const read = readBlock(block, open.repeated)
    this.#events.push('call' in read ? { kind: 'call', call: read.call } : { kind: 'invalid', block, ...read })
    return end
  }

  #interrupted(open: OpenBlock, end: number): number {
    const faults = [{ parameter: '', message: `is not closed: </${open.tag}> is missing before the next block` }]
    this.#events.push({ kind: 'invalid', block: this.#close(open, end), faults })
    return end
  }

  #cutOff(open: OpenBlock): number {
    const end = this.#source.length
    this.#events.push({ kind: 'incomplete', block: this.#close(open, end) })
    return end
  }

  #close({ tag, start, parameters }: OpenBlock, end: number): Block {
    this.#block = undefined
    this.#textFrom = end
    return { tag, start, end, parameters }
  }

  /** Quoted text stays text. The blocks in it are reported, so that the caller can say that they were not run. */
  #skipQuoted(from: number, to: number, inside: Quotation): void {
    for (const event of this.#parseQuoted(from, to)) {
      if (event.kind !== 'call' && event.kind !== 'invalid') continue
      this.#text(from)
      this.#events.push({ kind: 'skipped', block: blockOf(event.kind === 'call' ? event.call : event.block), inside })
    }
  }

  #runQuoted(from: number, to: number): void {
    this.#text(from)
    this.#events.push(...this.#parseQuoted(from, to))
    this.#textFrom = to
  }

  #parseQuoted(from: number, to: number): XmlEvent[] {
    if (!this.#source.has(less, from, to)) return [{ kind: 'text', text: this.#source.slice(from, to) }]
    const parser = new XmlParser({ markdown: false })
    const events = [...parser.push(this.#source.slice(from, to)), ...parser.finish()]
    return events.map((event) => moved(event, from))
  }
}

/** All events of a whole message, with adjacent text joined. */
export function parseXml(text: string, options: ParserOptions = {}): XmlEvent[] {
  const parser = new XmlParser(options)
  return joined([...parser.push(text), ...parser.finish()])
}

/** Joins adjacent text. */
export function joined(events: readonly XmlEvent[]): XmlEvent[] {
  const result: XmlEvent[] = []
  for (const event of events) {
    const last = result.at(-1)
    if (event.kind === 'text' && last?.kind === 'text') {
      result[result.length - 1] = { kind: 'text', text: last.text + event.text }
    } else result.push(event)
  }
  return result
}

const blockOf = ({ tag, parameters, start, end }: Block): Block => ({ tag, parameters, start, end })

function moved(event: XmlEvent, by: number): XmlEvent {
  const shift = <Part extends Block>(block: Part): Part => ({ ...block, start: block.start + by, end: block.end + by })
  if (event.kind === 'text') return event
  return event.kind === 'call' ? { ...event, call: shift(event.call) } : { ...event, block: shift(event.block) }
}

/** Removes the beginning of a closing tag from the end of a text. */
function withoutTag(text: string, closing: string): string {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(closing.slice(0, length))) return text.slice(0, -length)
  }
  return text
}
