import { Worker } from 'node:worker_threads'
import { PlatformError } from '../../model/errors.ts'
import { DocumentFault } from './document.ts'
import type { EncodedSnapshot } from './snapshot.ts'

export interface SourceDocument {
  /** The URL it came from, which relative references refer to. */
  readonly url: string
  readonly bytes: Uint8Array
}

/** The bytes are moved to the thread: the caller cannot use them afterwards. */
export type ImportJob =
  | {
      readonly task: 'convert'
      readonly bytes: Uint8Array
      readonly url?: string | undefined
      /** The names of the last import, by method and path. */
      readonly names: readonly (readonly [key: string, name: string])[]
      /** The documents that it refers to. */
      readonly others?: readonly SourceDocument[]
    }
  | ({ readonly task: 'references' } & SourceDocument)

export type ImportResult =
  | EncodedSnapshot
  | { readonly urls: readonly string[] }
  | { readonly fault: string; readonly place: string | undefined }

const deadlineMs = 60_000
const maxWaiting = 20
/** The largest known documents need half of it. */
const resourceLimits = { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 8, stackSizeMb: 8 }

/** Converts documents in a thread, one at a time. The thread ends with its job, which frees the memory. */
export class ImportThread {
  #last: Promise<unknown> = Promise.resolve()
  readonly #running = new Set<Worker>()
  #waiting = 0
  #closed = false

  async convert(job: Omit<Extract<ImportJob, { task: 'convert' }>, 'task'>): Promise<EncodedSnapshot> {
    const result = await this.#enqueue({ task: 'convert', ...job })
    if ('hash' in result) return result
    throw new Error('the thread answered another job')
  }

  /** The URLs of the documents that one refers to. The bytes are copied. */
  async references({ url, bytes }: SourceDocument): Promise<readonly string[]> {
    const result = await this.#enqueue({ task: 'references', url, bytes: new Uint8Array(bytes) })
    return 'urls' in result ? result.urls : []
  }

  async #enqueue(job: ImportJob): Promise<ImportResult> {
    if (this.#waiting >= maxWaiting) throw new PlatformError('TOO_MANY_IMPORTS', { most: maxWaiting })
    this.#waiting++
    const result = this.#last.then(() => this.#run(job)).finally(() => this.#waiting--)
    this.#last = result.catch(() => undefined)
    return result
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#running].map((worker) => worker.terminate()))
  }

  async #run(job: ImportJob): Promise<ImportResult> {
    if (this.#closed) throw new PlatformError('SHUTTING_DOWN', {})
    const worker = new Worker(new URL('./openapi-worker.ts', import.meta.url), { resourceLimits })
    this.#running.add(worker)
    const { promise, resolve, reject } = Promise.withResolvers<ImportResult>()
    const timer = setTimeout(() => reject(new DocumentFault('takes too long to convert')), deadlineMs)
    worker.on('message', (result: ImportResult) => {
      if ('fault' in result) reject(new DocumentFault(result.fault, result.place))
      else resolve(result)
    })
    worker.on('error', (error: Error & { code?: string }) =>
      reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new DocumentFault('needs too much memory to convert') : error),
    )
    worker.on('exit', () => reject(new PlatformError('SHUTTING_DOWN', {})))
    try {
      const bytes = owned(job.bytes)
      worker.postMessage({ ...job, bytes }, [bytes.buffer as ArrayBuffer])
      return await promise
    } finally {
      clearTimeout(timer)
      this.#running.delete(worker)
      void worker.terminate()
    }
  }
}

/** Bytes that do not share their memory with others, such as Node's pool of small buffers. */
const owned = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
