import { setImmediate } from 'node:timers/promises'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { DocumentRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import type { Document, DocumentMatch, DocumentSummary } from '../model/document.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Tags, type Window } from '../model/page.ts'

const toSummary = (row: Omit<DocumentRow, 'content'>): DocumentSummary => ({
  id: row.id,
  project_id: row.project_id,
  path: row.path,
  tags: JSON.parse(row.tags),
  size: row.size,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toDocument = (row: DocumentRow): Document => ({ ...toSummary(row), content: row.content })

const summaryColumns = ['id', 'project_id', 'path', 'tags', 'size', 'created_at', 'updated_at'] as const

export interface DocumentContent {
  readonly path: string
  readonly content: string
  readonly tags: Tags
}

export class Documents {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async create(projectId: string, document: DocumentContent): Promise<Document> {
    const now = Date.now()
    const row: DocumentRow = {
      id: newId('doc', now),
      project_id: projectId,
      path: document.path,
      content: document.content,
      tags: JSON.stringify(document.tags),
      size: Buffer.byteLength(document.content),
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'document', document.path, () =>
      this.#engine.db.insertInto('documents').values(row).execute(),
    )
    return toDocument(row)
  }

  async find(id: string): Promise<Document | undefined> {
    const row = await this.#engine.db
      .selectFrom('documents')
      .select([...summaryColumns, 'content'])
      .where('id', '=', id)
      .executeTakeFirst()
    return row && toDocument(row)
  }

  list(
    filter: { project_id?: string; path_prefix?: string } & Window,
    visible: Visible,
  ): Promise<Page<DocumentSummary>> {
    let where = this.#engine.db.selectFrom('documents')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    if (filter.path_prefix) {
      const prefix = filter.path_prefix
      // Databases count code points. JavaScript counts an emoji as two.
      const length = [...prefix].length
      where = where.where((e) => e(e.fn('substr', ['path', e.lit(1), e.lit(length)]), '=', prefix))
    }
    return pageOfRows(where, filter, visible, toSummary, {
      columns: summaryColumns,
      facts: ['id', 'project_id', 'path', 'tags'],
    })
  }

  /** Documents that match the words, best first, among those the caller can see. */
  async search(
    search: { project_ids: readonly string[] | null; words: readonly string[]; limit: number },
    visible: Visible,
  ): Promise<DocumentMatch[]> {
    const words = search.words.map((word) => word.replaceAll('\0', ' ').trim()).filter((word) => word !== '')
    const found = await this.#engine.searchDocuments({
      projectIds: search.project_ids,
      words,
      limit: visible ? 10_000 : search.limit,
    })
    if (found.length === 0) return []
    const rows = await this.#engine.db
      .selectFrom('documents')
      .select([...summaryColumns])
      .where(
        'id',
        'in',
        found.map(({ id }) => id),
      )
      .execute()
    const summaries = new Map(rows.map((row) => [row.id, toSummary(row)]))
    const matches: Omit<DocumentMatch, 'snippet'>[] = []
    for (const [index, { id, score }] of found.entries()) {
      if (matches.length === search.limit) break
      // Yield regularly: the cost of visibility checks depends on user-defined policies.
      if (index % 50 === 49) await setImmediate()
      const summary = summaries.get(id)
      if (summary && (!visible || visible(summary))) matches.push({ ...summary, score })
    }
    if (matches.length === 0) return []
    const ids = matches.map(({ id }) => id)
    const snippets = await this.#engine.snippetsOf(ids, words)
    return matches.map((match) => ({ ...match, snippet: snippets.get(match.id) ?? '' }))
  }

  async update(id: string, change: Partial<DocumentContent>): Promise<Document | undefined> {
    const row = await uniquely(this.#engine, 'document', change.path ?? '', () =>
      this.#engine.db
        .updateTable('documents')
        .set({
          ...(change.path !== undefined && { path: change.path }),
          ...(change.content !== undefined && { content: change.content, size: Buffer.byteLength(change.content) }),
          ...(change.tags !== undefined && { tags: JSON.stringify(change.tags) }),
          updated_at: Date.now(),
        })
        .where('id', '=', id)
        .returning([...summaryColumns, 'content'])
        .executeTakeFirst(),
    )
    return row && toDocument(row)
  }

  async remove(id: string): Promise<void> {
    await this.#engine.db.deleteFrom('documents').where('id', '=', id).execute()
  }
}
