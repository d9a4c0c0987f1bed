import type { Vector } from './vectors.ts'

/** Turns texts into vectors: the embedded model, or someone else's. */
export interface Embedder {
  /** Vectors of different models are never compared. */
  readonly model: string
  /** Says what is wrong with it before it is needed; nothing when nothing is. */
  check(): Promise<void>
  /** One vector for each text. Whoever waits for an answer is served before whoever prepares. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Vector[]>
  close(): Promise<void>
}
