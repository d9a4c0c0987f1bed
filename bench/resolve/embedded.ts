import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Outbound } from '../../src/http/outbound.ts'
import type { TextKind } from '../../src/search/embedder.ts'
import { Model, modelName } from '../../src/search/model.ts'
import { RemoteModel } from '../../src/search/remote.ts'
import type { Vector } from '../../src/search/vectors.ts'

const { QM_EMBEDDINGS_URL: url, QM_EMBEDDINGS_MODEL: named = 'model', QM_EMBEDDINGS_KEY: key } = process.env

export const isBuiltIn = url === undefined

type Embed = (texts: readonly string[], kind: TextKind) => Promise<readonly Vector[]>

/** The model of the endpoint that the environment names, as for the platform; else the built-in one. */
async function loadModel(): Promise<Embed> {
  if (url === undefined) {
    const model = await Model.load(undefined)
    return (texts) => model.embed(texts)
  }
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 2 ** 26 })
  const model = new RemoteModel({ url, model: named, key }, outbound)
  return (texts, kind) => model.embed(texts, kind, AbortSignal.timeout(120_000))
}

const name = url === undefined ? modelName : `${new URL(url).host}-${named}`.replace(/[^\w.-]+/g, '-')
const file = join(tmpdir(), `quartermaster-bench-${name}.jsonl`)
const keyOf = (kind: TextKind, text: string) =>
  createHash('sha1')
    .update(isBuiltIn ? text : `${kind} ${text}`)
    .digest('base64')

/** Vectors of texts, cached in a temporary file between runs, because the data sets never change. */
export class EmbeddedTexts {
  readonly #vectors = new Map<string, Vector>()
  #embed: Embed | undefined

  constructor() {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
    for (const line of lines.filter(Boolean)) {
      const [hash, vector] = line.split(' ') as [string, string]
      this.#vectors.set(hash, new Int8Array(Buffer.from(vector, 'base64')))
    }
  }

  get(kind: TextKind, text: string): Vector {
    const vector = this.#vectors.get(keyOf(kind, text))
    if (!vector) throw new Error(`not embedded: ${text}`)
    return vector
  }

  async prepare(kind: TextKind, texts: readonly string[]): Promise<void> {
    const missing = [...new Set(texts)].filter((text) => !this.#vectors.has(keyOf(kind, text)))
    missing.sort((a, b) => a.length - b.length)
    for (let start = 0; start < missing.length; start += 8) {
      this.#embed ??= await loadModel()
      const batch = missing.slice(start, start + 8)
      const vectors = await this.#embed(batch, kind)
      for (const [position, text] of batch.entries()) {
        const vector = vectors[position] as Vector
        this.#vectors.set(keyOf(kind, text), vector)
        appendFileSync(file, `${keyOf(kind, text)} ${Buffer.from(vector.buffer).toString('base64')}\n`)
      }
      if (start % 2000 === 0) console.error(`embedding: ${start} of ${missing.length}`)
    }
  }
}
