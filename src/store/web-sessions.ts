import type { Engine } from '../db/engine.ts'
import type { WebSessionRow } from '../db/tables.ts'

/** Dashboard sessions, by the hash of the token in the browser's cookie. */
export class WebSessions {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async create(session: WebSessionRow): Promise<void> {
    await this.#engine.db.insertInto('web_sessions').values(session).execute()
  }

  find(tokenHash: string): Promise<WebSessionRow | undefined> {
    return this.#engine.db.selectFrom('web_sessions').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst()
  }

  async extend(tokenHash: string, expiresAt: number): Promise<void> {
    await this.#engine.db
      .updateTable('web_sessions')
      .set({ expires_at: expiresAt })
      .where('token_hash', '=', tokenHash)
      .execute()
  }

  async remove(tokenHash: string): Promise<void> {
    await this.#engine.db.deleteFrom('web_sessions').where('token_hash', '=', tokenHash).execute()
  }

  /** Ends all sessions of a key or person. */
  async removeOf(principalId: string): Promise<void> {
    await this.#engine.db.deleteFrom('web_sessions').where('principal_id', '=', principalId).execute()
  }

  async sweep(now = Date.now()): Promise<void> {
    await this.#engine.db.deleteFrom('web_sessions').where('expires_at', '<', now).execute()
  }
}
