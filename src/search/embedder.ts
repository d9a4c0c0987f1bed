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

/** What runs the embedded model, as package.json names it. */
export const runtime = 'onnxruntime-node@1.30.0'

/** Its install script fetches what only graphics cards need; where it cannot, npm leaves all of it out. */
export const isRuntimeMissing = (error: unknown): boolean => {
  const { code, message } = error as NodeJS.ErrnoException
  return /MODULE_NOT_FOUND$/.test(code ?? '') && message.includes('onnxruntime-node')
}

/** What is wrong with a model, for everyone to read: without the places of files. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (isRuntimeMissing(error))
    return `onnxruntime-node, which runs the model, is not installed; "npm install --ignore-scripts ${runtime}" adds it`
  if (code === 'ENOENT') return 'a file of the model is missing'
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND')
    return 'the model, or what runs it, is not installed'
  return message.split('\n')[0] ?? ''
}
