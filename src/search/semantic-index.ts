import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Store } from '../store/store.ts'
import type { StoredVector } from '../store/vectors.ts'
import { type Embedder, reasonOf } from './embedder.ts'
import type { EmbeddingTexts, IndexedAction } from './indexed-action.ts'
import type { Index } from './postings.ts'
import { type Vector, Vectors } from './vectors.ts'

/** The state of the search, for /ready. */
export interface SearchState {
  /** Whether it uses vectors or only keywords. */
  readonly mode: 'meaning' | 'words'
  readonly model?: string
  /** Why vectors are unavailable, if they should be available. */
  readonly reason?: string
}

/** An action that needs vectors, and the hash that identifies them in the store. */
interface MissingVector {
  readonly index: Index
  readonly id: number
  readonly texts: EmbeddingTexts
  readonly hash: string
}

/** How many to look up before yielding. */
const chunk = 64
/** Small, so that search requests hardly wait for the model. */
const batch = 4
/** How long a search waits for vectors before it falls back to keywords. */
const timeoutMs = 3000
const backgroundTimeoutMs = 60_000
/** Pause after the model has failed. */
const rest = 60_000
const maxQuestions = 2000

/** The subject of a request is usually at its beginning, and longer texts take the model longer. */
const longestAsked = 280

export const gist = (request: string): string => request.slice(0, longestAsked).toWellFormed()

/**
 * Holds the vectors of actions. They come from the store, or else from the model, in the background and a few at a
 * time. While the model fails, searches use keywords only.
 */
export class SemanticIndex {
  readonly #embedder: Embedder
  readonly #store: Pick<Store, 'vectors'>
  readonly #warn: (text: string) => void
  readonly #closing = new AbortController()
  readonly #questions = new Map<string, Vector>()
  readonly #vectors = new WeakMap<Index, Vectors>()
  #pending: { readonly index: Index; readonly id: number }[] = []
  #filling: Promise<void> | undefined
  #fault: string | undefined
  #restUntil = 0
  #retry: NodeJS.Timeout | undefined

  constructor(embedder: Embedder, store: Pick<Store, 'vectors'>, warn: (text: string) => void) {
    this.#embedder = embedder
    this.#store = store
    this.#warn = warn
  }

  /** Logs once if something is wrong with the model. */
  async check(): Promise<void> {
    await this.#embedder.check().catch((error: Error) => this.#failed(error))
  }

  get state(): SearchState {
    const { model } = this.#embedder
    return this.#fault === undefined ? { mode: 'meaning', model } : { mode: 'words', model, reason: this.#fault }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('closing'))
    clearTimeout(this.#retry)
    await this.#embedder.close()
    await this.#filling
  }

  /** The vectors of an index that are known so far. */
  of(index: Index): Vectors | undefined {
    return this.#vectors.get(index)
  }

  /** Computes the vectors of these actions in the background. */
  want(index: Index, ids: readonly number[]): void {
    for (const id of ids) this.#pending.push({ index, id })
    this.#start()
  }

  /** Resolves when all vectors are computed, or no more can be. */
  async idle(): Promise<void> {
    await this.#filling
  }

  /** Embeds requests. Returns undefined if that fails or takes too long. */
  async embed(requests: readonly string[]): Promise<readonly Vector[] | undefined> {
    const texts = requests.map(gist)
    // Read before the model is asked: other requests may replace them while it works.
    const cached = texts.map((text) => this.#questions.get(text))
    const missing = [...new Set(texts.filter((_, at) => cached[at] === undefined))]
    if (missing.length > 0 && Date.now() < this.#restUntil) return undefined
    try {
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutMs)])
      const vectors = missing.length > 0 ? await this.#embedder.embed(missing, 'query', signal) : []
      const made = new Map(missing.map((text, at) => [text, vectors[at] as Vector]))
      const known = texts.map((text, at) => cached[at] ?? (made.get(text) as Vector))
      for (const [at, text] of texts.entries()) this.#remember(text, known[at] as Vector)
      if (missing.length > 0) this.#worked()
      return known
    } catch (error) {
      this.#failed(error as Error)
      return undefined
    }
  }

  /** Keeps the latest requests. A request that is asked again moves to the end. */
  #remember(text: string, vector: Vector): void {
    this.#questions.delete(text)
    this.#questions.set(text, vector)
    if (this.#questions.size <= maxQuestions) return
    const [oldest] = this.#questions.keys()
    this.#questions.delete(oldest as string)
  }

  #start(): void {
    if (this.#filling || this.#pending.length === 0 || Date.now() < this.#restUntil) return
    this.#filling = this.#fill().finally(() => {
      this.#filling = undefined
    })
  }

  async #fill(): Promise<void> {
    while (this.#pending.length > 0) {
      const taken = this.#pending.splice(0, chunk)
      await setImmediate()
      try {
        await this.#fillSome(taken.map(toMissingVector))
      } catch (error) {
        this.#pending.unshift(...taken)
        this.#failed(error as Error)
        return
      }
    }
  }

  async #fillSome(wanted: readonly MissingVector[]): Promise<void> {
    const { model } = this.#embedder
    const hashes = [...new Set(wanted.map(({ hash }) => hash))]
    const stored = new Map((await this.#store.vectors.find(model, hashes)).map((one) => [one.text_hash, one.bytes]))
    for (const one of wanted) {
      const bytes = stored.get(one.hash)
      if (bytes) this.#keep(one, halvesOf(bytes))
    }
    const missing = wanted.filter(({ hash }) => !stored.has(hash))
    missing.sort((a, b) => a.texts.whole.length - b.texts.whole.length)
    const made = new Map<string, StoredVector>()
    try {
      for (let start = 0; start < missing.length; start += batch) {
        for (const one of await this.#embed(missing.slice(start, start + batch))) made.set(one.text_hash, one)
      }
    } finally {
      // In one commit, because each commit waits for the disk.
      if (!this.#closing.signal.aborted) await this.#store.vectors.add(model, [...made.values()])
    }
  }

  async #embed(some: readonly MissingVector[]): Promise<StoredVector[]> {
    const signal = () => AbortSignal.any([this.#closing.signal, AbortSignal.timeout(backgroundTimeoutMs)])
    const short = await this.#embedder.embed(
      some.map(({ texts }) => texts.short),
      'document',
      signal(),
    )
    const whole = await this.#embedder.embed(
      some.map(({ texts }) => texts.whole),
      'document',
      signal(),
    )
    this.#worked()
    return some.map((one, at) => {
      const halves = { short: short[at] as Vector, whole: whole[at] as Vector }
      this.#keep(one, halves)
      return { text_hash: one.hash, bytes: Buffer.concat([bytesOf(halves.short), bytesOf(halves.whole)]) }
    })
  }

  #keep({ index, id }: MissingVector, { short, whole }: { short: Vector; whole: Vector }): void {
    let vectors = this.#vectors.get(index)
    // If the model's vector size has changed, the previous vectors are useless.
    if (vectors?.size !== short.length) {
      vectors = new Vectors(short.length, this.#embedder.isFitted)
      this.#vectors.set(index, vectors)
    }
    vectors.set(id, short, whole)
  }

  #worked(): void {
    this.#fault = undefined
    this.#restUntil = 0
    if (this.#pending.length > 0) this.#start()
  }

  #failed(error: Error): void {
    if (this.#closing.signal.aborted) return
    this.#restUntil = Date.now() + rest
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#start(), rest + 1)
    this.#retry.unref()
    const isNew = this.#fault === undefined
    this.#fault = reasonOf(error)
    if (isNew) this.#warn(`actions are searched by keywords only: ${this.#fault}`)
  }
}

function toMissingVector({ index, id }: { index: Index; id: number }): MissingVector {
  const texts = (index.actions[id] as IndexedAction).texts()
  const hash = createHash('sha256').update(`${texts.short}\n${texts.whole}`).digest('hex')
  return { index, id, texts, hash }
}

const bytesOf = (vector: Vector) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)

function halvesOf(bytes: Uint8Array): { short: Vector; whole: Vector } {
  const all = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return { short: all.subarray(0, all.length / 2), whole: all.subarray(all.length / 2) }
}
