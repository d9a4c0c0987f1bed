import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** What models of the last years read; others differ by some per cent. */
export const tokenizer = 'o200k_base'

/** How many tokens each text is. In a thread for the purpose: the tables are large and the texts may be, too. */
export async function countTokens(texts: readonly string[]): Promise<number[]> {
  const worker = new Worker(new URL('./tokens-worker.ts', import.meta.url), { workerData: texts })
  try {
    const [counts] = (await once(worker, 'message')) as [number[]]
    return counts
  } finally {
    await worker.terminate()
  }
}
