import { type Kysely, sql } from 'kysely'

/**
 * The built-in authorization server. Artifacts (sessions, codes, refresh tokens) are found by the hash of their value, and
 * their payload is encrypted. A grant is what a person has allowed one client to do. Keys sign tokens and client ids.
 * Tokens of other issuers are accepted if a project trusts the issuer.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('oauth_artifacts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('uid_hash', 'text')
    .addColumn('grant_id', 'text')
    .addColumn('payload', 'text', (column) => column.notNull())
    .addColumn('consumed_at', 'bigint')
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  for (const column of ['uid_hash', 'grant_id', 'expires_at']) {
    await db.schema.createIndex(`oauth_artifacts_${column}`).on('oauth_artifacts').column(column).execute()
  }
  await db.schema
    .createTable('oauth_grants')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text')
    .addColumn('server_id', 'text')
    .addColumn('resource', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('principal_id', 'text', (column) => column.notNull())
    .addColumn('principal_name', 'text', (column) => column.notNull())
    .addColumn('client_id', 'text', (column) => column.notNull())
    .addColumn('client_name', 'text', (column) => column.notNull())
    .addColumn('client_host', 'text')
    .addColumn('redirect_host', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'bigint')
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('oauth_grants_principal').on('oauth_grants').column('principal_id').execute()
  await db.schema
    .createTable('oauth_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema
    .createTable('trusted_issuers')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('settings', 'text', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('trusted_issuers_issuer').on('trusted_issuers').column('issuer').execute()
  await db.schema
    .createTable('external_identities')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('trusted_issuer_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('audience', 'text')
    .addColumn('access_policy_ids', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.alterTable('servers').addColumn('access', 'text').execute()
  await denyTrust(db)
}

interface Statement {
  readonly effect: string
  readonly action: readonly string[]
}

/** Policies that deny managing API keys, such as that of editors, also deny trusting issuers, whose tokens are as good. */
async function denyTrust(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ id: string; document: string }>`select id, document from access_policies`.execute(db)
  for (const { id, document } of rows) {
    const { statement } = JSON.parse(document) as { statement: Statement[] }
    const denies = ({ effect, action }: Statement) => effect === 'Deny' && action.includes('api-keys:*')
    if (!statement.some(denies)) continue
    const changed = statement.map((one) =>
      denies(one) ? { ...one, action: [...one.action, 'trusted-issuers:*'] } : one,
    )
    await sql`update access_policies set document = ${JSON.stringify({ statement: changed })} where id = ${id}`.execute(
      db,
    )
  }
}
