import type { Engine } from '../db/engine.ts'
import type { ConnectLinkRow } from '../db/tables.ts'

export type ConnectLinkDraft = Pick<
  ConnectLinkRow,
  | 'id'
  | 'token_hash'
  | 'project_id'
  | 'principal_id'
  | 'minted_by'
  | 'target'
  | 'tool_id'
  | 'owner'
  | 'reason'
  | 'challenge'
  | 'return_url'
  | 'expires_at'
>

/** Links to hosted pages on which a person connects an account. Tokens and states are stored as hashes. */
export class ConnectLinks {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get #db() {
    return this.#engine.db
  }

  async create(draft: ConnectLinkDraft): Promise<void> {
    const row: ConnectLinkRow = {
      ...draft,
      ...{ browser_hash: null, verified: 0, state_hash: null, state_until: null, pending: null, connection_id: null },
      status: 'open',
      created_at: Date.now(),
    }
    await this.#db.insertInto('connect_links').values(row).execute()
  }

  find(id: string): Promise<ConnectLinkRow | undefined> {
    return this.#db.selectFrom('connect_links').selectAll().where('id', '=', id).executeTakeFirst()
  }

  findByToken(hash: string): Promise<ConnectLinkRow | undefined> {
    return this.#db.selectFrom('connect_links').selectAll().where('token_hash', '=', hash).executeTakeFirst()
  }

  findByState(hash: string): Promise<ConnectLinkRow | undefined> {
    return this.#db.selectFrom('connect_links').selectAll().where('state_hash', '=', hash).executeTakeFirst()
  }

  /** Binds the link to the first browser. Undefined if another one came first. */
  bind(id: string, browserHash: string): Promise<ConnectLinkRow | undefined> {
    return this.#db
      .updateTable('connect_links')
      .set({ browser_hash: browserHash })
      .where('id', '=', id)
      .where((e) => e.or([e('browser_hash', 'is', null), e('browser_hash', '=', browserHash)]))
      .returningAll()
      .executeTakeFirst()
  }

  /** Another browser can have the link, unless its person was confirmed. */
  async unbind(id: string): Promise<void> {
    await this.#db
      .updateTable('connect_links')
      .set({ browser_hash: null })
      .where('id', '=', id)
      .where('verified', '=', 0)
      .where('status', '=', 'open')
      .execute()
  }

  async verify(id: string): Promise<void> {
    await this.#db.updateTable('connect_links').set({ verified: 1 }).where('id', '=', id).execute()
  }

  /** A new authorization replaces one that was started before: the earlier state is then unknown. */
  async start(id: string, started: Pick<ConnectLinkRow, 'state_hash' | 'state_until' | 'pending'>): Promise<void> {
    await this.#db.updateTable('connect_links').set(started).where('id', '=', id).where('status', '=', 'open').execute()
  }

  /** Uses up a state. Undefined if another request has used it. */
  takeState(id: string, stateHash: string): Promise<ConnectLinkRow | undefined> {
    return this.#db
      .updateTable('connect_links')
      .set({ state_hash: null, state_until: null, pending: null })
      .where('id', '=', id)
      .where('state_hash', '=', stateHash)
      .where('status', '=', 'open')
      .returningAll()
      .executeTakeFirst()
  }

  /** Uses up the link. Undefined if it was used before. */
  complete(id: string, connectionId: string): Promise<ConnectLinkRow | undefined> {
    return this.#db
      .updateTable('connect_links')
      .set({ status: 'done', connection_id: connectionId, pending: null, state_hash: null })
      .where('id', '=', id)
      .where('status', '=', 'open')
      .returningAll()
      .executeTakeFirst()
  }

  async sweep(before: number): Promise<void> {
    await this.#db.deleteFrom('connect_links').where('expires_at', '<', before).execute()
  }
}
