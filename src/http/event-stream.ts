import { StringDecoder } from 'node:string_decoder'
import { createParser, type EventSourceParser } from 'eventsource-parser'

/** Parses a stream of server-sent events, fed in parts of any size. */
export class EventStream {
  /** The id to resume the stream from, and the delay that the server asks for before a reconnect. */
  lastId: string | undefined
  retryMs: number | undefined
  readonly #onData: (data: string) => void
  #decoder: StringDecoder | undefined
  #parser: EventSourceParser | undefined

  constructor(onData: (data: string) => void) {
    this.#onData = onData
  }

  feed(part: Buffer): void {
    // Created on demand, because most responses are not streams.
    this.#decoder ??= new StringDecoder('utf8')
    this.#parser ??= createParser({
      onEvent: ({ id, data }) => {
        if (id !== undefined) this.lastId = id
        if (data !== '') this.#onData(data)
      },
      onRetry: (milliseconds) => {
        this.retryMs = milliseconds
      },
    })
    this.#parser.feed(this.#decoder.write(part))
  }
}
