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
  let text = ''
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true })
      // A carriage return at the end may be the first half of a line break.
      const blocks = text.replaceAll(/\r\n|\r(?!$)/g, '\n').split('\n\n')
      text = blocks.pop() ?? ''
      yield* blocks.flatMap(readEvent)
    }
  } finally {
    await reader.cancel().catch(() => {})
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
