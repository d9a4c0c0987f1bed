import type { Vector } from './vectors.ts'

/** A request, or the description of an action. Some models distinguish them. */
export type TextKind = 'query' | 'document'

/** Turns texts into vectors: the embedded model, or a remote one. */
export interface Embedder {
  /** Identifies the model. Vectors of different models are never compared. */
  readonly model: string
  /** Whether the weights of the ranking are fitted to it. */
  readonly isFitted: boolean
  /** Throws if the model is unusable, before it is needed. */
  check(): Promise<void>
  /** One vector for each text. Searches take precedence over background work. */
  embed(texts: readonly string[], kind: TextKind, signal: AbortSignal): Promise<Vector[]>
  close(): Promise<void>
}

/** The runtime of the embedded model, as in package.json. */
export const runtime = 'onnxruntime-node@1.30.0'

/** Its install script downloads files that only GPUs need. If that fails, npm skips the whole package. */
export const isRuntimeMissing = (error: unknown): boolean => {
  const { code, message } = error as NodeJS.ErrnoException
  return /MODULE_NOT_FOUND$/.test(code ?? '') && message.includes('onnxruntime-node')
}

/** The reason for a failure, safe to show to anyone: without file paths. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (isRuntimeMissing(error))
    return `onnxruntime-node, which runs the model, is not installed; "npm install --ignore-scripts ${runtime}" adds it`
  if (code === 'ENOENT') return 'a model file is missing'
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') return 'the model or its runtime is not installed'
  return message.split('\n')[0] ?? ''
}
