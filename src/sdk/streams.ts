/** The content of a file to upload. Streams are sent as they are read. */
export type Bytes = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | string

/** One server-sent event, as in `{ name: 'call.ended', id: 'call_…', data: {…} }`. */
export interface ServerEvent<Data> {
  readonly name: string
  readonly id: string | undefined
  readonly data: Data
}

/**
 * Reads events until the platform ends the stream. Leaving the loop closes the connection. A lost connection throws.
 */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent<unknown>> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  const blocks = new Blocks()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      yield* blocks.add(decoder.decode(part.value, { stream: true })).flatMap(readEvent)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/**
 * Splits chunked text into blocks at blank lines. Each chunk is scanned once, and the chunks of a block are joined
 * once, so one huge event costs no more than many small ones of the same total size.
 */
export class Blocks {
  readonly #pieces: string[] = []
  /** The tail of the previous chunk: a CR that may be part of a CRLF, or the first of two line breaks. */
  #held = ''

  /** Returns the blocks that this chunk completes. */
  add(piece: string): string[] {
    const text = (this.#held + piece).replaceAll(/\r\n|\r(?!$)/g, '\n')
    const [first = '', ...rest] = text.split('\n\n')
    const last = rest.pop()
    if (last === undefined) {
      this.#keep(first)
      return []
    }
    const whole = [this.#pieces.splice(0).join('') + first, ...rest]
    this.#keep(last)
    return whole
  }

  #keep(text: string): void {
    this.#held = /[\n\r]*$/.exec(text.slice(-2))?.[0] ?? ''
    this.#pieces.push(text.slice(0, text.length - this.#held.length))
  }
}

function readEvent(block: string): ServerEvent<unknown>[] {
  const data: string[] = []
  let name = 'message'
  let id: string | undefined
  for (const line of block.split('\n')) {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    if (field === 'event') name = value
    if (field === 'id') id = value
  }
  return data.length === 0 ? [] : [{ name, id, data: JSON.parse(data.join('\n')) }]
}
