import { createHash } from 'node:crypto'
import type { Engine } from '../db/engine.ts'
import type { GuideAnswerRow } from '../db/tables.ts'
import { canonical } from '../lib/canonical.ts'
import type { Json } from '../lib/json.ts'
import type { Guide, GuideContent } from '../model/guide.ts'

const maxCached = 200

/** What guides lack that were stored before there was such a thing. */
const older = { variables: [], canned_replies: [], reply_mode: 'free' as const }

/** Guides, by the hash of their content, and the answers to their questions. */
export class Guides {
  readonly #engine: Engine
  /** Guides never change. */
  readonly #cached = new Map<string, Guide>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** The same content in the same project is the same guide. */
  async keep(projectId: string, content: GuideContent): Promise<Guide> {
    const hash = createHash('sha256')
      .update(`${projectId}\n${canonical(content as unknown as Json)}`)
      .digest('base64url')
    const id = `guide_${hash.slice(0, 32)}`
    await this.#engine.db
      .insertInto('guides')
      .values({ id, project_id: projectId, content: JSON.stringify(content), created_at: Date.now() })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
    return { ...content, id }
  }

  async find(id: string): Promise<Guide | undefined> {
    const cached = this.#cached.get(id)
    if (cached) return cached
    const row = await this.#engine.db.selectFrom('guides').select('content').where('id', '=', id).executeTakeFirst()
    if (!row) return undefined
    const guide: Guide = { ...older, ...(JSON.parse(row.content) as GuideContent), id }
    this.#cached.set(id, guide)
    const [oldest] = this.#cached.keys()
    if (this.#cached.size > maxCached && oldest !== undefined) this.#cached.delete(oldest)
    return guide
  }

  /** Stores the answers of one decision. */
  async addAnswers(answers: readonly GuideAnswerRow[]): Promise<void> {
    if (answers.length === 0) return
    await this.#engine.db
      .insertInto('guide_answers')
      .values([...answers])
      .onConflict((conflict) => conflict.columns(['generation_id', 'hash']).doNothing())
      .execute()
  }

  answersOf(generationId: string): Promise<GuideAnswerRow[]> {
    return this.#engine.db
      .selectFrom('guide_answers')
      .selectAll()
      .where('generation_id', '=', generationId)
      .orderBy('step')
      .execute()
  }
}
