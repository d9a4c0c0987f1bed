import type { ApiSnapshots } from '../../store/api-snapshots.ts'
import { Api } from './api.ts'
import { ApiHealth } from './health.ts'
import { ImportThread, type SourceDocument } from './import-thread.ts'
import { decodeSnapshot } from './snapshot.ts'

/** The number of APIs whose operations stay in memory. */
const maxKept = 50

/** Imports documents, and has the imported ones in memory. Each belongs to a project. */
export class Apis {
  readonly health = new ApiHealth()
  readonly #store: ApiSnapshots
  readonly #thread = new ImportThread()
  readonly #kept = new Map<string, Promise<Api>>()

  constructor(store: ApiSnapshots) {
    this.#store = store
  }

  /** Converts and stores a document. Returns its hash. Throws `DocumentFault`. */
  async import(
    projectId: string,
    bytes: Uint8Array,
    { before, url, others }: { before?: Api | undefined; url?: string; others?: readonly SourceDocument[] } = {},
  ): Promise<string> {
    const names = before ? [...before.names] : []
    const snapshot = await this.#thread.convert({ bytes, names, ...(others && { url, others }) })
    await this.#store.save(projectId, snapshot.hash, snapshot.bytes)
    return snapshot.hash
  }

  /** The URLs of the documents that one refers to. */
  references(document: SourceDocument): Promise<readonly string[]> {
    return this.#thread.references(document)
  }

  /** Undefined if the project has no such snapshot. */
  async find(projectId: string, hash: string): Promise<Api | undefined> {
    const key = `${projectId} ${hash}`
    const kept = this.#kept.get(key)
    if (kept) {
      this.#kept.delete(key)
      this.#kept.set(key, kept)
      return kept
    }
    const bytes = await this.#store.find(projectId, hash)
    if (!bytes) return undefined
    const loading = this.#kept.get(key) ?? decodeSnapshot(bytes).then((snapshot) => new Api(snapshot))
    loading.catch(() => this.#kept.delete(key))
    this.#kept.set(key, loading)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest)
    return loading
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
