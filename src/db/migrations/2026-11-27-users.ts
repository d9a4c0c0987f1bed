import { type Kysely, sql } from 'kysely'

/** People, the providers that they sign in with, and sessions that belong to any principal. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('project_id', 'text')
    .addColumn('email', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('access_policy_ids', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('password_hash', 'text')
    .addColumn('sso_issuer', 'text')
    .addColumn('sso_subject', 'text')
    .addColumn('invitation_hash', 'text')
    .addColumn('invitation_expires_at', 'bigint')
    .addColumn('created_by', 'text')
    .addColumn('ancestors', 'text', (column) => column.notNull())
    .addColumn('signed_out_at', 'bigint', (column) => column.notNull())
    .addColumn('last_seen_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  const unique = (name: string, columns: string[]) =>
    db.schema.createIndex(name).on('users').columns(columns).unique().execute()
  await unique('users_email', ['email'])
  await unique('users_sso', ['sso_issuer', 'sso_subject'])
  await unique('users_invitation', ['invitation_hash'])
  await db.schema
    .createTable('sign_in_providers')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('client_id', 'text', (column) => column.notNull())
    .addColumn('client_secret', 'text')
    .addColumn('allowed_domains', 'text', (column) => column.notNull())
    .addColumn('default_role', 'text')
    .addColumn('default_project_id', 'text')
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute()
  await db.schema.alterTable('web_sessions').renameColumn('api_key_id', 'principal_id').execute()
  await db.schema.createIndex('web_sessions_principal').on('web_sessions').column('principal_id').execute()
  await denyPeople(db)
}

interface Statement {
  readonly effect: string
  readonly action: readonly string[]
}

/** Policies that deny managing API keys, such as that of editors, also deny managing people. */
async function denyPeople(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ id: string; document: string }>`select id, document from access_policies`.execute(db)
  for (const { id, document } of rows) {
    const { statement } = JSON.parse(document) as { statement: Statement[] }
    const denies = ({ effect, action }: Statement) => effect === 'Deny' && action.includes('api-keys:*')
    if (!statement.some(denies)) continue
    const changed = statement.map((one) =>
      denies(one) ? { ...one, action: [...one.action, 'users:*', 'sign-in-providers:*'] } : one,
    )
    await sql`update access_policies set document = ${JSON.stringify({ statement: changed })} where id = ${id}`.execute(
      db,
    )
  }
}
