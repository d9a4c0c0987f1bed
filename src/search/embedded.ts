import { Worker } from 'node:worker_threads'
import type { Embedder, TextKind } from './embedder.ts'
import { checkModel, modelName, vectorSize } from './model.ts'
import type { Vector } from './vectors.ts'

export interface Job {
  readonly id: number
  readonly texts: readonly string[]
}

export type EmbedResult = { readonly id: number } & ({ readonly bytes: Int8Array } | { readonly fault: string })

interface Waiting {
  resolve(vectors: Vector[]): void
  reject(error: Error): void
}

/** The model in a worker thread, started on first use because it takes some hundred megabytes. */
export class EmbeddedModel implements Embedder {
  readonly model = modelName
  readonly isFitted = true
  readonly #folder: string | undefined
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #jobs = 0

  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  check(): Promise<void> {
    return checkModel(this.#folder)
  }

  async embed(texts: readonly string[], _kind: TextKind, signal: AbortSignal): Promise<Vector[]> {
    signal.throwIfAborted()
    this.#worker ??= this.#open()
    const id = this.#jobs++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      signal.addEventListener('abort', () => this.#take(id)?.reject(signal.reason), { once: true })
      this.#worker?.postMessage({ id, texts } satisfies Job)
    })
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
    this.#fail(new Error('the model is closed'))
  }

  #open(): Worker {
    const worker = new Worker(new URL('./embed-worker.ts', import.meta.url), { workerData: this.#folder })
    worker.unref()
    worker.on('message', (done: EmbedResult) => {
      const waiting = this.#take(done.id)
      if ('fault' in done) waiting?.reject(new Error(done.fault))
      else waiting?.resolve(cut(done.bytes))
    })
    worker.on('error', (error) => this.#fail(error as Error))
    worker.on('exit', () => this.#fail(new Error('the model thread has ended')))
    return worker
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  #fail(error: Error): void {
    this.#worker = undefined
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(error)
  }
}

const cut = (bytes: Int8Array): Vector[] =>
  Array.from({ length: bytes.length / vectorSize }, (_, at) => bytes.subarray(at * vectorSize, (at + 1) * vectorSize))
