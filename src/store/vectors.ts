import type { Engine } from '../db/engine.ts'

export interface StoredVector {
  readonly text_hash: string
  readonly bytes: Uint8Array
}

/** Embeddings of texts, by model. A cache: they can always be computed again. */
export class Vectors {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async find(model: string, hashes: readonly string[]): Promise<StoredVector[]> {
    if (hashes.length === 0) return []
    return this.#engine.db
      .selectFrom('vectors')
      .select(['text_hash', 'bytes'])
      .where('model', '=', model)
      .where('text_hash', 'in', hashes)
      .execute()
  }

  async add(model: string, vectors: readonly StoredVector[]): Promise<void> {
    if (vectors.length === 0) return
    await this.#engine.db
      .insertInto('vectors')
      .values(vectors.map((vector) => ({ model, ...vector })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}
