import { PlatformError } from '../model/errors.ts'

// HTTP/1.1 as it stands on the wire: how a request begins, and what a response is. Both are judged strictly, because the
// next request on the same connection would get whatever was read wrongly here.

export interface HttpRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Of the same address; its headers are sent as well, and must be others. */
  readonly opening?: Opening | undefined
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export type WireFault = 'WIRE_BAD_REQUEST' | 'WIRE_BAD_RESPONSE' | 'WIRE_BROKE_OFF' | 'WIRE_CLOSED'

/** It says nothing of what was sent or read, which may be secret. */
export class WireError extends Error {
  readonly code: WireFault

  constructor(code: WireFault) {
    super(code)
    this.code = code
  }
}

export const tooLarge = (limit: number) => new PlatformError('RESPONSE_TOO_LARGE', { limit })

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const text = '[\\t\\x20-\\x7e\\x80-\\xff]*'
const isToken = new RegExp(`^${token}$`)
const isText = new RegExp(`^${text}$`)
const isField = new RegExp(`^${token}:${text}$`)
/** All of a head at once: nothing but this grammar gets further, so what takes it apart need not look again. */
const isHead = new RegExp(`^HTTP/1\\.[01] [1-9][0-9]{2}(?: ${text})?(?:\\r\\n${token}:${text})*$`)
const isChunkSize = new RegExp(`^[0-9A-Fa-f]{1,8}(?:;${text})?$`)
const isPath = /^\/[\x21-\x7e]*$/

/** What many requests to one address begin with, judged and written out once. */
export interface Opening {
  readonly origin: string
  readonly host: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly fields: Fields
}

/** Header fields as they are sent, but for those that decide how. */
interface Fields {
  readonly text: string
  readonly host: string | undefined
  readonly length: string | undefined
  readonly closes: boolean
}

const noFields: Fields = { text: '', host: undefined, length: undefined, closes: false }

export function openingOf(url: URL, headers: Readonly<Record<string, string>> = {}): Opening {
  const path = url.pathname + url.search
  if (!isPath.test(path)) throw badRequest()
  return { origin: url.origin, host: url.host, path, headers, fields: printFields(headers, noFields) }
}

function printFields(headers: Readonly<Record<string, string>>, before: Fields): Fields {
  let { text, host, length, closes } = before
  for (const given of Object.keys(headers)) {
    const value = headers[given]
    if (value === undefined) continue
    if (!isToken.test(given) || !isText.test(value)) throw badRequest()
    const name = given.toLowerCase()
    if (refused.has(name)) throw badRequest()
    if (name === 'host') {
      if (host !== undefined) throw badRequest()
      host = value
    } else if (name === 'content-length') {
      if (!/^\d+$/.test(value)) throw badRequest()
      length = value
    } else if (name === 'connection') {
      if (!listed(value).every((option) => isToken.test(option))) throw badRequest()
      closes ||= isClosing(value)
    } else text += `${given}: ${value}\r\n`
  }
  return { text, host, length, closes }
}

export interface RequestHead {
  /** All that comes before the body, in Latin-1. */
  readonly head: string
  readonly origin: string
  /** What the caller calls the host, when that is not what the address calls it. */
  readonly host: string | undefined
  /** Whether the body can be sent in Latin-1 too, with the head. */
  readonly isPlain: boolean
  /** Whether the connection is of no use afterwards. */
  readonly isLast: boolean
}

/** They say where a message or its connection ends, which is not the caller's to say. */
const refused = new Set(['transfer-encoding', 'keep-alive', 'upgrade', 'expect'])

const expectsBody = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH'])

export function printHead({ url, method, headers, body = '', opening = openingOf(url) }: HttpRequest): RequestHead {
  if (!isToken.test(method)) throw badRequest()
  const { text, host, length: declared, closes } = printFields(headers, opening.fields)
  const length = Buffer.byteLength(body)
  if (declared !== undefined && length > 0 && Number(declared) !== length) throw badRequest()
  const expected = expectsBody.has(method)
  const says = method === 'HEAD' || closes ? 'close' : 'keep-alive'
  const counted = length > 0 || expected ? `content-length: ${length}\r\n` : ''
  return {
    head: `${method} ${opening.path} HTTP/1.1\r\nhost: ${host ?? opening.host}\r\nconnection: ${says}\r\n${text}${counted}\r\n`,
    origin: opening.origin,
    host,
    isPlain: length === body.length,
    // Servers disagree about the body of a response to HEAD, and about one that comes with a GET.
    isLast: says === 'close' || (length > 0 && !expected),
  }
}

const badRequest = () => new WireError('WIRE_BAD_REQUEST')
const badResponse = () => new WireError('WIRE_BAD_RESPONSE')

const listed = (value: string) => value.split(',').map((option) => option.trim().toLowerCase())

/** Almost every response says the one word or nothing. */
const isClosing = (connection = 'keep-alive') => connection !== 'keep-alive' && listed(connection).includes('close')

const headBytes = 16 * 1024
const chunkLineBytes = 256
const interimResponses = 16
/** As long as a server is trusted to keep a connection when it does not say. */
export const defaultKeptMs = 4000
const mostKeptMs = 600_000

const nothing = Buffer.alloc(0)
const none = {}

/** A head, and what it says about the rest of its response. */
interface ResponseHead {
  readonly text: string
  readonly status: number
  readonly headers: Record<string, string>
  /** Of the body, where it is declared. */
  readonly length: number | undefined
  readonly isChunked: boolean
  readonly isEvents: boolean
  readonly keptMs: number
  readonly isPromised: boolean
}

/** The last head that was read on a connection: most of them say the same as the one before. */
export class HeadMemory {
  #last: ResponseHead | undefined

  read(text: string): ResponseHead {
    if (this.#last?.text !== text) this.#last = readHead(text)
    return this.#last as ResponseHead
  }
}

function readHead(text: string): ResponseHead {
  if (!isHead.test(text)) throw badResponse()
  const headers = fieldsOf(text)
  const { 'content-length': length, 'transfer-encoding': coding, 'content-type': type = '' } = headers
  const { connection, 'keep-alive': kept } = headers
  if (coding !== undefined && (length !== undefined || coding.toLowerCase() !== 'chunked')) throw badResponse()
  if (length !== undefined && !/^[0-9]{1,15}$/.test(length)) throw badResponse()
  const isCurrent = text.charCodeAt(7) === 49
  return {
    text,
    status: Number(text.slice(9, 12)),
    headers,
    length: length === undefined ? undefined : Number(length),
    isChunked: coding !== undefined,
    isEvents: /^text\/event-stream\b/i.test(type),
    keptMs: isCurrent && !isClosing(connection) ? keptMsOf(kept) : 0,
    isPromised: kept !== undefined || connection?.toLowerCase() === 'keep-alive',
  }
}

type Stage = 'head' | 'body' | 'rest' | 'size' | 'chunk' | 'chunk end' | 'trailers' | 'whole'

/**
 * One response, read from parts that may be cut anywhere: first the head. Then a body of declared length ("body"), one
 * that ends with the connection ("rest"), or chunks: the size of each, the chunk, the end of its line; after the one of
 * size 0 come trailers. A response without a body is whole after its head. What a part holds is copied if it is kept.
 */
export class ResponseReader {
  /** How long the connection may wait for another request; not at all when it is of no use afterwards. */
  keptMs = 0
  /** Whether the server says that it keeps the connection; the others are only supposed to. */
  isPromised = false
  readonly #method: string
  readonly #limit: number
  readonly #onEvents: ((part: Buffer) => void) | undefined
  readonly #memory: HeadMemory
  #stage: Stage = 'head'
  /** What came of a line, or of a head, of which the end has not come yet. */
  #begun: Buffer | undefined
  /** Of the body or the chunk, the bytes still to come. */
  #left = 0
  #trailerBytesLeft = headBytes
  #interimLeft = interimResponses
  #status = 0
  #headers: Record<string, string> = none
  #takesEvents = false
  #body: Buffer = nothing
  #size = 0

  constructor(method: string, limit: number, onEvents?: (part: Buffer) => void, memory = new HeadMemory()) {
    this.#method = method
    this.#limit = limit
    this.#onEvents = onEvents
    this.#memory = memory
  }

  get response(): HttpResponse {
    return { status: this.#status, headers: this.#headers, body: this.#body.subarray(0, this.#size) }
  }

  /** Whether the response is whole with this part. Throws when it is not one, or is too large. */
  read(part: Buffer): boolean {
    const bytes = this.#begun === undefined ? part : Buffer.concat([this.#begun, part])
    this.#begun = undefined
    let at = 0
    while (at < bytes.length && this.#stage !== 'whole') {
      const next = this.#step(bytes, at)
      if (next === undefined) {
        this.#begun = Buffer.from(bytes.subarray(at))
        return false
      }
      at = next
    }
    // What comes after the end belongs to nobody, and nobody may ever get it.
    if (at < bytes.length) this.keptMs = 0
    return this.#stage === 'whole'
  }

  /** Whether the response is whole when nothing more comes. */
  end(): boolean {
    return this.#stage === 'rest'
  }

  /** Where the next step begins, or nothing when this one needs more bytes. */
  #step(bytes: Buffer, at: number): number | undefined {
    switch (this.#stage) {
      case 'head':
        return this.#readHead(bytes, at)
      case 'body':
      case 'chunk':
        return this.#readCounted(bytes, at)
      case 'size':
        return this.#readSize(bytes, at)
      case 'chunk end':
        return this.#readChunkEnd(bytes, at)
      case 'trailers':
        return this.#readTrailer(bytes, at)
      default:
        this.#take(bytes.subarray(at))
        return bytes.length
    }
  }

  #readHead(bytes: Buffer, at: number): number | undefined {
    const head = textUntil('\r\n\r\n', bytes, at, headBytes)
    if (head === undefined) {
      // Whoever speaks another protocol, or ends lines in another way, need not be heard to the end, which may never come.
      if (!beginsHead(bytes.toString('latin1', at))) throw badResponse()
      return undefined
    }
    const read = this.#memory.read(head)
    this.#status = read.status
    this.#headers = read.headers
    if (read.status >= 200) this.#frame(read)
    else if (read.status === 101 || this.#interimLeft-- === 0) throw badResponse()
    return at + head.length + 4
  }

  /** Finds out where the response ends, and whether its connection can be used again. */
  #frame({ status, length, isChunked, isEvents, keptMs, isPromised }: ResponseHead): void {
    this.keptMs = keptMs
    this.isPromised = isPromised
    this.#takesEvents = isEvents && this.#onEvents !== undefined
    this.#left = length ?? 0
    if (this.#method === 'HEAD' || status === 204 || status === 304) {
      // They may declare a body that they do not have; some servers then send it all the same.
      if (this.#left > 0 || isChunked) this.keptMs = 0
      this.#stage = 'whole'
    } else if (isChunked) this.#stage = 'size'
    else if (length === undefined) {
      this.keptMs = 0
      this.#stage = 'rest'
    } else if (length > this.#limit) throw tooLarge(this.#limit)
    else this.#stage = length === 0 ? 'whole' : 'body'
  }

  #readCounted(bytes: Buffer, at: number): number {
    const end = Math.min(at + this.#left, bytes.length)
    this.#take(bytes.subarray(at, end))
    this.#left -= end - at
    if (this.#left === 0) this.#stage = this.#stage === 'body' ? 'whole' : 'chunk end'
    return end
  }

  #readSize(bytes: Buffer, at: number): number | undefined {
    const line = textUntil('\r\n', bytes, at, chunkLineBytes)
    if (line === undefined) return undefined
    if (!isChunkSize.test(line)) throw badResponse()
    this.#left = Number.parseInt(line, 16)
    this.#stage = this.#left === 0 ? 'trailers' : 'chunk'
    return at + line.length + 2
  }

  #readChunkEnd(bytes: Buffer, at: number): number | undefined {
    if (bytes[at] !== 13 || (at + 1 < bytes.length && bytes[at + 1] !== 10)) throw badResponse()
    if (at + 1 === bytes.length) return undefined
    this.#stage = 'size'
    return at + 2
  }

  #readTrailer(bytes: Buffer, at: number): number | undefined {
    const line = textUntil('\r\n', bytes, at, this.#trailerBytesLeft)
    if (line === undefined) return undefined
    if (line === '') this.#stage = 'whole'
    else if (!isField.test(line)) throw badResponse()
    this.#trailerBytesLeft -= Math.min(line.length + 2, this.#trailerBytesLeft)
    return at + line.length + 2
  }

  #take(part: Buffer): void {
    const size = this.#size + part.length
    if (size > this.#limit) throw tooLarge(this.#limit)
    if (this.#takesEvents) this.#onEvents?.(part)
    else if (this.#size === 0) this.#body = Buffer.from(part)
    else this.#append(part, size)
    this.#size = size
  }

  /** One growing buffer, not a list: a body sent byte by byte would take a hundred times its size. */
  #append(part: Buffer, size: number): void {
    if (size > this.#body.length) {
      const grown = Buffer.allocUnsafe(Math.min(size * 2, this.#limit))
      this.#body.copy(grown, 0, 0, this.#size)
      this.#body = grown
    }
    part.copy(this.#body, this.#size)
  }
}

/** What stands before `end`, or nothing when `end` has not come yet. */
function textUntil(end: string, bytes: Buffer, at: number, limit: number): string | undefined {
  const most = at + limit + end.length
  const come = bytes.toString('latin1', at, Math.min(most, bytes.length))
  const cut = come.indexOf(end)
  if (cut >= 0) return come.slice(0, cut)
  if (most <= bytes.length) throw badResponse()
  return undefined
}

/** Whether it is a head as far as it has come: its lines, and then one that may be cut anywhere. */
function beginsHead(come: string): boolean {
  const end = come.lastIndexOf('\r\n')
  const last = end < 0 ? come : come.slice(end + 2)
  const isFit = end < 0 ? 'HTTP/1.'.startsWith(come.slice(0, 7)) : isHead.test(come.slice(0, end))
  return isFit && /^[^\r\n]*\r?$/.test(last)
}

/** The fields of a head that is known to be one. Their names may be anything, such as those that objects inherit. */
function fieldsOf(head: string): Record<string, string> {
  const fields: Record<string, string> = Object.create(null)
  let end = head.indexOf('\r\n')
  while (end >= 0) {
    const start = end + 2
    end = head.indexOf('\r\n', start)
    const colon = head.indexOf(':', start)
    const name = head.slice(start, colon).toLowerCase()
    const value = trimmed(head, colon + 1, end < 0 ? head.length : end)
    const before = fields[name]
    fields[name] = before === undefined ? value : `${before}, ${value}`
  }
  return fields
}

/** Without spaces and tabs around it; `trim` would also take bytes that are part of a letter. */
function trimmed(head: string, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isBlank(head.charCodeAt(start))) start++
  while (end > start && isBlank(head.charCodeAt(end - 1))) end--
  return head.slice(start, end)
}

const isBlank = (code: number) => code === 32 || code === 9

/** A second less than the server says, so that it does not hang up just when it is asked again. */
function keptMsOf(keepAlive: string | undefined): number {
  const seconds = keepAlive === undefined ? undefined : /(?:^|[\s,;])timeout=([0-9]{1,9})/i.exec(keepAlive)?.[1]
  return seconds === undefined ? defaultKeptMs : Math.min(Number(seconds) * 1000 - 1000, mostKeptMs)
}
