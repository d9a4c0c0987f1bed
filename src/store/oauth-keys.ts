import type { Engine } from '../db/engine.ts'
import type { OauthKeyRow } from '../db/tables.ts'

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

  /** The keys whose id is or begins with a name, latest first. */
  list(name: string): Promise<OauthKeyRow[]> {
    return this.#engine.db
      .selectFrom('oauth_keys')
      .selectAll()
      .where((e) => e.or([e('id', '=', name), e('id', 'like', `${name}/%`)]))
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .execute()
  }

  /** Removes keys of a name that another key had replaced before a time, except one. */
  async removeBefore(name: string, except: string, time: number): Promise<void> {
    const keys = await this.list(name)
    const old = keys.filter(({ id }, index) => id !== except && (keys[index - 1]?.created_at ?? time) <= time)
    if (old.length === 0) return
    await this.#engine.db
      .deleteFrom('oauth_keys')
      .where(
        'id',
        'in',
        old.map(({ id }) => id),
      )
      .execute()
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
