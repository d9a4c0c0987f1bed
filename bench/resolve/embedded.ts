import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Model, modelName, vectorSize } from '../../src/search/model.ts'
import type { Vector } from '../../src/search/vectors.ts'

const file = join(tmpdir(), `quartermaster-bench-${modelName}.bin`)
const hashSize = 20
const rowSize = hashSize + vectorSize
const hashOf = (text: string) => createHash('sha1').update(text).digest()

/** Vectors of texts, cached in a temporary file between runs, because the data sets never change. */
export class EmbeddedTexts {
  readonly #vectors = new Map<string, Vector>()
  #model: Model | undefined

  constructor() {
    const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
    for (let at = 0; at + rowSize <= bytes.length; at += rowSize) {
      const vector = new Int8Array(bytes.buffer, bytes.byteOffset + at + hashSize, vectorSize)
      this.#vectors.set(bytes.toString('latin1', at, at + hashSize), vector)
    }
  }

  get(text: string): Vector {
    const vector = this.#vectors.get(hashOf(text).toString('latin1'))
    if (!vector) throw new Error(`not embedded: ${text}`)
    return vector
  }

  async prepare(texts: readonly string[]): Promise<void> {
    const missing = [...new Set(texts)].filter((text) => !this.#vectors.has(hashOf(text).toString('latin1')))
    missing.sort((a, b) => a.length - b.length)
    for (let start = 0; start < missing.length; start += 8) {
      this.#model ??= await Model.load(undefined)
      const batch = missing.slice(start, start + 8)
      const vectors = await this.#model.embed(batch)
      for (const [position, text] of batch.entries()) {
        const vector = vectors[position] as Vector
        this.#vectors.set(hashOf(text).toString('latin1'), vector)
        appendFileSync(
          file,
          Buffer.concat([hashOf(text), new Uint8Array(vector.buffer, vector.byteOffset, vector.length)]),
        )
      }
      if (start % 2000 === 0) console.error(`embedding: ${start} of ${missing.length}`)
    }
  }
}
