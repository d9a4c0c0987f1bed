import type { Engine } from '../db/engine.ts'
import type { OAuthClientRow } from '../db/tables.ts'

type Place = Pick<OAuthClientRow, 'project_id' | 'issuer' | 'redirect_uri'>

/** Our dynamic registrations, one per project, authorization server and redirect URI. */
export class OAuthClients {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  find({ project_id, issuer, redirect_uri }: Place): Promise<OAuthClientRow | undefined> {
    return this.#engine.db
      .selectFrom('oauth_clients')
      .selectAll()
      .where('project_id', '=', project_id)
      .where('issuer', '=', issuer)
      .where('redirect_uri', '=', redirect_uri)
      .executeTakeFirst()
  }

  /** The latest registration replaces earlier ones. */
  async save(row: Omit<OAuthClientRow, 'created_at'>): Promise<void> {
    await this.#engine.db.transaction().execute(async (db) => {
      const { project_id, issuer, redirect_uri } = row
      await db
        .deleteFrom('oauth_clients')
        .where('project_id', '=', project_id)
        .where('issuer', '=', issuer)
        .where('redirect_uri', '=', redirect_uri)
        .execute()
      await db
        .insertInto('oauth_clients')
        .values({ ...row, created_at: Date.now() })
        .onConflict((on) => on.doNothing())
        .execute()
    })
  }

  /** The authorization server does not know the registration any more. */
  async forget(projectId: string, issuer: string): Promise<void> {
    await this.#engine.db
      .deleteFrom('oauth_clients')
      .where('project_id', '=', projectId)
      .where('issuer', '=', issuer)
      .execute()
  }
}
