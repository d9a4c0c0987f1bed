import { createHash } from 'node:crypto'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { FileRow } from '../db/tables.ts'
import type { File } from '../model/document.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Tags, type Window } from '../model/page.ts'

/** Small enough to stream with little memory, large enough that the overhead per row does not matter. */
const chunkSize = 256 * 1024

const toFile = (row: FileRow): File => ({
  id: row.id,
  project_id: row.project_id,
  path: row.path,
  content_type: row.content_type,
  tags: JSON.parse(row.tags),
  size: row.size,
  sha256: row.sha256,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** Stored bytes that do not belong to a file yet. */
export interface StoredContent {
  readonly content_id: string
  readonly size: number
  readonly sha256: string
}

/**
 * Files are stored in the database, in chunks: one backup contains everything, and every replica can serve them. New
 * content is written next to the old, and the file's row switches to it at the end. So an interrupted upload changes
 * nothing.
 */
export class Files {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async store(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<StoredContent> {
    const contentId = newId('bytes')
    const hash = createHash('sha256')
    let size = 0
    let position = 0
    let pending: Uint8Array[] = []
    let pendingSize = 0
    const flush = async () => {
      await this.#engine.db
        .insertInto('file_chunks')
        .values({ content_id: contentId, position: position++, bytes: Buffer.concat(pending) })
        .execute()
      pending = []
      pendingSize = 0
    }
    try {
      for await (const piece of bytes) {
        size += piece.byteLength
        if (size > limit) throw new PlatformError('BODY_TOO_LARGE', { limit })
        hash.update(piece)
        for (let start = 0; start < piece.byteLength; ) {
          const part = piece.subarray(start, start + chunkSize - pendingSize)
          pending.push(part)
          pendingSize += part.byteLength
          start += part.byteLength
          if (pendingSize === chunkSize) await flush()
        }
      }
      if (pendingSize > 0) await flush()
    } catch (error) {
      await this.discard(contentId)
      throw error
    }
    return { content_id: contentId, size, sha256: hash.digest('hex') }
  }

  async discard(contentId: string): Promise<void> {
    await this.#engine.db.deleteFrom('file_chunks').where('content_id', '=', contentId).execute()
  }

  async create(
    projectId: string,
    file: { path: string; content_type: string; tags: Tags },
    content: StoredContent,
  ): Promise<File> {
    const now = Date.now()
    const row: FileRow = {
      id: newId('file', now),
      project_id: projectId,
      path: file.path,
      content_type: file.content_type,
      tags: JSON.stringify(file.tags),
      ...content,
      created_at: now,
      updated_at: now,
    }
    try {
      await this.#engine.db.insertInto('files').values(row).execute()
    } catch (error) {
      await this.discard(content.content_id)
      if (this.#engine.isDuplicate(error)) throw new PlatformError('NAME_TAKEN', { kind: 'file', name: file.path })
      throw error
    }
    return toFile(row)
  }

  async find(id: string): Promise<File | undefined> {
    const row = await this.#engine.db.selectFrom('files').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toFile(row)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<File>> {
    let where = this.#engine.db.selectFrom('files')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toFile, { facts: ['id', 'project_id', 'path', 'tags'] })
  }

  /** The bytes from `start` up to `end`, chunk by chunk. */
  async *read(id: string, start: number, end: number): AsyncGenerator<Uint8Array> {
    const file = await this.#engine.db.selectFrom('files').select('content_id').where('id', '=', id).executeTakeFirst()
    if (!file) return
    for (let position = Math.floor(start / chunkSize); position * chunkSize < end; position++) {
      const chunk = await this.#engine.db
        .selectFrom('file_chunks')
        .select('bytes')
        .where('content_id', '=', file.content_id)
        .where('position', '=', position)
        .executeTakeFirst()
      // The content was replaced or deleted during the read. Abort instead of mixing old and new.
      if (!chunk) throw new Error(`file ${id} changed while it was read`)
      const from = position * chunkSize
      yield chunk.bytes.subarray(Math.max(start - from, 0), Math.min(end - from, chunkSize))
    }
  }

  async update(
    id: string,
    change: { path?: string; content_type?: string; tags?: Tags },
    content?: StoredContent,
  ): Promise<File | undefined> {
    const { before, after } = await this.#engine.db
      .transaction()
      .execute(async (transaction) => {
        const before = await transaction
          .selectFrom('files')
          .select('content_id')
          .where('id', '=', id)
          .executeTakeFirst()
        const after = await transaction
          .updateTable('files')
          .set({
            ...(change.path !== undefined && { path: change.path }),
            ...(change.content_type !== undefined && { content_type: change.content_type }),
            ...(change.tags !== undefined && { tags: JSON.stringify(change.tags) }),
            ...content,
            updated_at: Date.now(),
          })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirst()
        return { before, after }
      })
      .catch(async (error: unknown) => {
        if (content) await this.discard(content.content_id)
        if (this.#engine.isDuplicate(error))
          throw new PlatformError('NAME_TAKEN', { kind: 'file', name: change.path ?? '' })
        throw error
      })
    // The unreferenced content: the old one, or the new one if the file was deleted.
    const unused = after ? before?.content_id : content?.content_id
    if (content && unused) await this.discard(unused)
    return after && toFile(after)
  }

  async remove(id: string): Promise<void> {
    const row = await this.#engine.db
      .deleteFrom('files')
      .where('id', '=', id)
      .returning('content_id')
      .executeTakeFirst()
    if (row) await this.discard(row.content_id)
  }

  /** Deletes content of interrupted uploads: older than `olderThan`, and not referenced by a file. */
  async sweep(olderThan: string): Promise<void> {
    await this.#engine.db
      .deleteFrom('file_chunks')
      .where('content_id', '<', olderThan)
      .where('content_id', 'not in', this.#engine.db.selectFrom('files').select('content_id'))
      .execute()
  }
}
