import { z } from 'zod'
import type { HttpClient, Outbound } from '../http/outbound.ts'
import type { Embedder, TextKind } from './embedder.ts'
import { type Prefixes, prefixesOf } from './prefixes.ts'
import { quantized, type Vector } from './vectors.ts'

export interface RemoteOptions {
  /** The base URL of an OpenAI-compatible API: `https://api.openai.com/v1`. */
  readonly url: string
  readonly model: string
  readonly key: string | undefined
  /** Replace those that are known for the model. */
  readonly queryPrefix?: string | undefined
  readonly documentPrefix?: string | undefined
}

const Answer = z.object({
  data: z.array(
    z.object({ index: z.number().int().min(0).optional(), embedding: z.array(z.number()).min(1).max(8192) }),
  ),
})

/** A model behind an OpenAI-compatible embeddings endpoint. Requests go through the outbound guard. */
export class RemoteModel implements Embedder {
  readonly model: string
  readonly isFitted = false
  readonly #url: URL
  readonly #options: RemoteOptions
  readonly #prefixes: Prefixes
  readonly #http: HttpClient

  constructor(options: RemoteOptions, outbound: Pick<Outbound, 'client'>) {
    this.#options = options
    this.#url = new URL(`${options.url.replace(/\/+$/, '')}/embeddings`)
    this.#http = outbound.client({ project: undefined, credentials: ['embeddings', this.#url, options.key] })
    const known = prefixesOf(options.model)
    this.#prefixes = {
      query: options.queryPrefix ?? known.query,
      document: options.documentPrefix ?? known.document,
    }
    // Vectors are stored under this name, and those with another prefix are different.
    this.model = [`${this.#url.host}/${options.model}`, this.#prefixes.document.trim()].filter(Boolean).join(' ')
  }

  /** Nothing to check: a failing endpoint is noticed on first use. */
  async check(): Promise<void> {}

  async close(): Promise<void> {}

  async embed(texts: readonly string[], kind: TextKind, signal: AbortSignal): Promise<Vector[]> {
    const { model, key } = this.#options
    const { status, body } = await this.#http.request({
      url: this.#url,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({
        model,
        input: texts.map((text) => this.#prefixes[kind] + text),
        encoding_format: 'float',
      }),
      signal,
    })
    if (status !== 200) throw new Error(`${this.#url.host} returned status ${status}`)
    const { data } = Answer.parse(JSON.parse(body.toString('utf8')))
    const sorted = data.map((one, at) => ({ at: one.index ?? at, vector: quantized(one.embedding) }))
    sorted.sort((a, b) => a.at - b.at)
    const [first] = sorted
    if (sorted.length !== texts.length || sorted.some(({ vector }) => vector.length !== first?.vector.length)) {
      throw new Error(`${this.#url.host} returned ${sorted.length} vectors for ${texts.length} texts`)
    }
    return sorted.map(({ vector }) => vector)
  }
}
