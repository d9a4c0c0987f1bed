/** What can be sent as the content of a file. A stream is sent as it is read. */
export type Bytes = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | string

/** One server-sent event, as in `{ name: 'call.ended', id: 'call_…', data: {…} }`. */
export interface ServerEvent<Data> {
  readonly name: string
  readonly id: string | undefined
  readonly data: Data
}

/**
 * Reads events until the platform ends the stream. Leaving the loop closes the connection; a connection that breaks
 * throws.
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
 * Text in pieces, put together to what stands between blank lines. Each piece is looked at once, and the pieces of a block
 * are joined once: an event of many megabytes costs as much as as many small ones.
 */
export class Blocks {
  readonly #pieces: string[] = []
  /** The end of what came before: a carriage return that may be half of a line break, or the first of two line breaks. */
  #held = ''

  /** The blocks that this piece completes. */
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
