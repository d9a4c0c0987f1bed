import { parentPort, workerData } from 'node:worker_threads'
import type { EmbedResult, Job } from './embedded.ts'
import { reasonOf } from './embedder.ts'
import { Model, vectorSize } from './model.ts'

const loading = Model.load(workerData as string | undefined)
// Each job that awaits it reports the error.
loading.catch(() => {})

parentPort?.on('message', async ({ id, texts }: Job) => {
  try {
    const vectors = await (await loading).embed(texts)
    const bytes = new Int8Array(vectors.length * vectorSize)
    for (const [at, vector] of vectors.entries()) bytes.set(vector, at * vectorSize)
    parentPort?.postMessage({ id, bytes } satisfies EmbedResult, [bytes.buffer])
  } catch (error) {
    parentPort?.postMessage({ id, fault: reasonOf(error) } satisfies EmbedResult)
  }
})
