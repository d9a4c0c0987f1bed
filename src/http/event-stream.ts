import { StringDecoder } from 'node:string_decoder'

/** Reads a stream of server-sent events, however it is cut into parts. */
export class EventStream {
  /** Where the stream can be taken up again, and how long its server wants to be left alone before that. */
  lastId: string | undefined
  retryMs: number | undefined
  #decoder: StringDecoder | undefined
  readonly #onData: (data: string) => void
  #rest = ''
  #data: string[] = []

  constructor(onData: (data: string) => void) {
    this.#onData = onData
  }

  feed(part: Buffer): void {
    this.#decoder ??= new StringDecoder('utf8')
    const text = this.#rest + this.#decoder.write(part)
    let start = 0
    for (;;) {
      const end = text.indexOf('\n', start)
      if (end === -1) break
      this.#line(text.slice(start, text.charCodeAt(end - 1) === 13 && end > start ? end - 1 : end))
      start = end + 1
    }
    this.#rest = text.slice(start)
  }

  #line(line: string): void {
    if (line === '') this.#dispatch()
    else this.#field(line)
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1)
    if (field === 'data') this.#data.push(value)
    else if (field === 'id') this.lastId = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
  }

  #dispatch(): void {
    if (this.#data.length === 0) return
    const data = this.#data.join('\n')
    this.#data = []
    if (data !== '') this.#onData(data)
  }
}
