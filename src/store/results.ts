import { sql } from 'kysely'
import type { Engine } from '../db/engine.ts'
import type { ResultRow } from '../db/tables.ts'
import { newId } from '../model/ids.ts'

const keptMs = 24 * 60 * 60_000
/** Per principal. The oldest are removed first. The newest is always kept. */
const maxResults = 200
const maxBytes = 64 * 1024 * 1024

/** The owner of a result. For all others it does not exist. */
export interface ResultOwner {
  readonly principalId: string
  readonly serverId: string
}

export interface ResultDraft extends ResultOwner {
  readonly projectId: string
  readonly callId: string
  readonly bytes: number
  readonly characters: number
  /** Well-formed Unicode without NUL, so that every database stores and counts it the same way. */
  readonly text: string
}

/** Results that were too large to return to a model at once, kept for a day. */
export class Results {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async keep(draft: ResultDraft): Promise<string> {
    const now = Date.now()
    const row: ResultRow = {
      id: newId('res', now),
      project_id: draft.projectId,
      principal_id: draft.principalId,
      server_id: draft.serverId,
      call_id: draft.callId,
      bytes: draft.bytes,
      characters: draft.characters,
      created_at: now,
      text: draft.text,
    }
    await this.#engine.db.insertInto('results').values(row).execute()
    await this.#makeRoom(draft.principalId)
    return row.id
  }

  /** The total length and a range of the text. Both databases count code points, so no character is split. */
  async read(
    id: string,
    { principalId, serverId }: ResultOwner,
    { offset, length }: { readonly offset: number; readonly length: number },
  ): Promise<{ characters: number; part: string } | undefined> {
    const part = sql<string>`substr(text, cast(${offset + 1} as integer), cast(${length} as integer))`
    return this.#engine.db
      .selectFrom('results')
      .select(['characters', part.as('part')])
      .where('id', '=', id)
      .where('principal_id', '=', principalId)
      .where('server_id', '=', serverId)
      .where('created_at', '>=', Date.now() - keptMs)
      .executeTakeFirst()
  }

  async sweep(): Promise<void> {
    await this.#engine.db
      .deleteFrom('results')
      .where('created_at', '<', Date.now() - keptMs)
      .execute()
  }

  async #makeRoom(principalId: string): Promise<void> {
    const { db } = this.#engine
    const newest = await db
      .selectFrom('results')
      .select(['id', 'bytes'])
      .where('principal_id', '=', principalId)
      .orderBy('id', 'desc')
      .limit(maxResults + 1)
      .execute()
    let bytes = 0
    const last = newest.find((one, place) => {
      bytes += one.bytes
      return place > 0 && (place === maxResults || bytes > maxBytes)
    })
    if (!last) return
    await db.deleteFrom('results').where('principal_id', '=', principalId).where('id', '<=', last.id).execute()
  }
}
