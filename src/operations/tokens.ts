import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** The encoding of recent OpenAI models. Other models differ by a few percent. */
export const tokenizer = 'o200k_base'

/** Counts the tokens of each text in a worker thread, because the encoding tables and the texts can be large. */
export async function countTokens(texts: readonly string[]): Promise<number[]> {
  const worker = new Worker(new URL('./tokens-worker.ts', import.meta.url), { workerData: texts })
  try {
    const [counts] = (await once(worker, 'message')) as [number[]]
    return counts
  } finally {
    await worker.terminate()
  }
}
