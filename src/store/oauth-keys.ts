import type { Engine } from '../db/engine.ts'

/** Keys of the authorization server, encrypted. All processes on a database share them. */
export class OauthKeys {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async find(id: string): Promise<string | undefined> {
    const row = await this.#engine.db.selectFrom('oauth_keys').select('value').where('id', '=', id).executeTakeFirst()
    return row?.value
  }

  /** Keeps the existing key if there is one, so that concurrent callers end up with the same. */
  async add(id: string, value: string): Promise<void> {
    await this.#engine.db
      .insertInto('oauth_keys')
      .values({ id, value, created_at: Date.now() })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
  }
}
