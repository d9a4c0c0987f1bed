import { sql } from 'kysely'
import type { Engine } from '../db/engine.ts'
import { Settings } from './settings.ts'

/** The location of each kind of secret. A sealed value is bound to its location and cannot be opened elsewhere. */
export const sealedAt = {
  providerKey: (id: string) => `ai_providers/${id}/api_key`,
  providerHeaders: (id: string) => `ai_providers/${id}/headers`,
  oauthArtifact: (id: string) => `oauth_artifacts/${id}/payload`,
  oauthKey: (id: string) => `oauth_keys/${id}/value`,
  signInProviderSecret: (id: string) => `sign_in_providers/${id}/client_secret`,
  authConfig: (id: string) => `auth_configs/${id}/client_secret`,
  identityProviderSecret: (id: string) => `auth_configs/${id}/idp_client_secret`,
  connection: (id: string) => `connections/${id}/secrets`,
  /** Within the JSON of a wait. Not re-encrypted when the key is rotated, because links last for minutes. */
  callLink: (callId: string) => `generation_calls/${callId}/link`,
  connectLink: (id: string) => `connect_links/${id}/pending`,
  oauthClient: (id: string) => `oauth_clients/${id}/client`,
  secret: (id: string) => `secrets/${id}/value`,
  toolSecrets: (id: string) => `tools/${id}/secrets`,
  webhookSecret: (id: string) => `webhooks/${id}/secret`,
  webhookUrl: (id: string) => `webhooks/${id}/sealed_url`,
}

/** Every column with sealed values. A column that is missing here becomes unreadable after a key rotation. */
const columns = [
  { table: 'ai_providers', column: 'api_key', at: sealedAt.providerKey },
  { table: 'ai_providers', column: 'headers', at: sealedAt.providerHeaders },
  { table: 'oauth_artifacts', column: 'payload', at: sealedAt.oauthArtifact },
  { table: 'oauth_keys', column: 'value', at: sealedAt.oauthKey },
  { table: 'sign_in_providers', column: 'client_secret', at: sealedAt.signInProviderSecret },
  { table: 'auth_configs', column: 'client_secret', at: sealedAt.authConfig },
  { table: 'auth_configs', column: 'idp_client_secret', at: sealedAt.identityProviderSecret },
  { table: 'connections', column: 'secrets', at: sealedAt.connection },
  { table: 'connect_links', column: 'pending', at: sealedAt.connectLink },
  { table: 'oauth_clients', column: 'client', at: sealedAt.oauthClient },
  { table: 'secrets', column: 'value', at: sealedAt.secret },
  { table: 'tools', column: 'secrets', at: sealedAt.toolSecrets },
  { table: 'webhooks', column: 'secret', at: sealedAt.webhookSecret },
  { table: 'webhooks', column: 'previous_secret', at: sealedAt.webhookSecret },
  { table: 'webhooks', column: 'sealed_url', at: sealedAt.webhookUrl },
] as const

export interface SealedValue {
  readonly table: string
  readonly column: string
  readonly id: string
  readonly place: string
  readonly sealed: string
}

const batch = 200
const idLength = 8

/** All sealed values, of every kind: `v1.<key id>.…`. */
export class Sealed {
  readonly #engine: Pick<Engine, 'db'>

  constructor(engine: Pick<Engine, 'db'>) {
    this.#engine = engine
  }

  /** Runs `work` in a transaction. */
  together<Result>(work: (sealed: Sealed, settings: Settings) => Promise<Result>): Promise<Result> {
    return this.#engine.db.transaction().execute((db) => work(new Sealed({ db }), new Settings({ db })))
  }

  /** Values that were sealed with a given key. */
  async *by(keyId: string): AsyncGenerator<SealedValue> {
    for (const { table, column, at } of columns) {
      for (let last = ''; ; ) {
        const { rows } = await sql<{ id: string; sealed: string }>`
          select id, ${sql.ref(column)} as sealed from ${sql.table(table)}
          where id > ${last} and ${sql.ref(column)} like ${`v1.${keyId}.%`}
          order by id limit ${batch}`.execute(this.#engine.db)
        for (const { id, sealed } of rows) yield { table, column, id, place: at(id), sealed }
        last = rows.at(-1)?.id ?? last
        if (rows.length < batch) break
      }
    }
  }

  /** False if the value has changed since it was read. */
  async replace({ table, column, id, sealed }: SealedValue, resealed: string): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${resealed}
      where id = ${id} and ${sql.ref(column)} = ${sealed}`.execute(this.#engine.db)
    return numAffectedRows === 1n
  }

  /** The ids of all keys in use. */
  async keyIds(): Promise<Set<string>> {
    const found = await Promise.all(
      columns.map(({ table, column }) =>
        sql<{ id: string }>`
          select distinct substr(${sql.ref(column)}, 4, ${idLength}) as id from ${sql.table(table)}
          where ${sql.ref(column)} like 'v1.%'`.execute(this.#engine.db),
      ),
    )
    return new Set(found.flatMap(({ rows }) => rows.map(({ id }) => id)))
  }
}
