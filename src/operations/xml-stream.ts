import { EventStream as EventReader } from '../http/event-stream.ts'
import { isObject } from '../lib/json.ts'
import { readAhead } from '../lib/read-ahead.ts'
import { knownError } from '../model/database-unavailable.ts'
import { errorBody, PlatformError } from '../model/errors.ts'
import type { XmlResult } from '../model/xml-result.ts'
import { type ParserOptions, type XmlEvent, XmlParser } from '../xml/index.ts'
import type { Context, EventStream } from './operation.ts'
import { replyText } from './xml-results.ts'

/** The events of a message that arrives in pieces. Reads on while a call runs. */
export async function* eventsOf(
  { body, bodyType = '' }: Pick<Context, 'bodyType'> & { readonly body: AsyncIterable<Uint8Array> },
  options: ParserOptions,
  limit: number,
): AsyncGenerator<XmlEvent> {
  const parser = new XmlParser(options)
  let size = 0
  for await (const piece of readAhead(bounded(piecesOf(body, bodyType)))) yield* parser.push(piece)
  yield* parser.finish()

  async function* bounded(pieces: AsyncIterable<string>) {
    for await (const piece of pieces) {
      size += Buffer.byteLength(piece)
      if (size > limit) throw new PlatformError('MESSAGE_TOO_LARGE', { limit })
      yield piece
    }
  }
}

/** The text in a body: as it is, or in server-sent events or lines of JSON. */
async function* piecesOf(body: AsyncIterable<Uint8Array>, type: string): AsyncGenerator<string> {
  if (type.startsWith('text/event-stream')) {
    const found: string[] = []
    const reader = new EventReader((data) => found.push(data))
    for await (const part of body) {
      reader.feed(Buffer.from(part))
      yield* found.splice(0).map(textIn)
    }
    return
  }
  const decoder = new TextDecoder()
  if (type.startsWith('text/plain')) {
    for await (const part of body) yield decoder.decode(part, { stream: true })
    return yield decoder.decode()
  }
  let rest = ''
  for await (const part of body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestLine) throw invalid(`a line has more than ${longestLine} characters`)
    yield* lines.filter((line) => line.trim() !== '').map(textIn)
  }
  if (rest.trim() !== '') yield textIn(rest)
}

const longestLine = 2 ** 22

/** `"text"`, `{"text": "…"}`, or a piece of a chat completion as OpenAI's API streams it. Anything else has no text. */
function textIn(data: string): string {
  if (data === '[DONE]') return ''
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    throw invalid('a piece is not JSON: send "text" or {"text": "…"}')
  }
  if (typeof value === 'string') return value
  if (!isObject(value)) return ''
  if (typeof value.text === 'string') return value.text
  const [choice] = Array.isArray(value.choices) ? value.choices : []
  const delta = isObject(choice) ? choice.delta : undefined
  return isObject(delta) && typeof delta.content === 'string' ? delta.content : ''
}

const invalid = (message: string) => new PlatformError('VALIDATION_FAILED', { errors: [{ path: '', message }] })

/** Sends each result when it is there, then all of them. Without a reader, no further block is run. */
export const streamOf = (results: AsyncIterable<XmlResult>): EventStream => ({
  async subscribe(send, end) {
    let isOver = false
    const run = async () => {
      const all: XmlResult[] = []
      for await (const result of results) {
        if (isOver) return
        all.push(result)
        send({ name: 'result', data: result })
      }
      send({ name: 'done', data: { text: replyText(all), results: all } })
    }
    run()
      .catch((error: unknown) =>
        send({ name: 'error', data: errorBody(knownError(error) ?? new PlatformError('INTERNAL', {})) }),
      )
      .finally(end)
    return () => {
      isOver = true
    }
  },
})
