import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { SignInProviderRow } from '../db/tables.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import type { SignInProvider } from '../model/sign-in-provider.ts'
import type { Role } from '../model/user.ts'

const toProvider = (row: SignInProviderRow): SignInProvider => ({
  id: row.id,
  name: row.name,
  issuer: row.issuer,
  client_id: row.client_id,
  has_client_secret: row.client_secret !== null,
  allowed_domains: JSON.parse(row.allowed_domains),
  default_role: row.default_role as Role | null,
  default_project_id: row.default_project_id,
  enabled: row.enabled === 1,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

type Plain = Pick<SignInProvider, 'name' | 'client_id' | 'default_role' | 'default_project_id'>
type Listed = Pick<SignInProvider, 'allowed_domains' | 'enabled'>

/** `client_secret` is sealed. */
export type SignInProviderDraft = Plain & Listed & { readonly client_secret: string | null }

const toColumns = ({ allowed_domains, enabled, ...plain }: Partial<SignInProviderDraft>) => ({
  ...plain,
  ...(allowed_domains && { allowed_domains: JSON.stringify(allowed_domains) }),
  ...(enabled !== undefined && { enabled: enabled ? 1 : 0 }),
})

/** Read on every sign-in and not cached: sign-ins are rare. */
export class SignInProviders {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  get #db() {
    return this.#engine.db
  }

  async create(id: string, issuer: string, draft: SignInProviderDraft): Promise<SignInProvider> {
    const now = Date.now()
    const columns = toColumns(draft) as Omit<SignInProviderRow, 'id' | 'issuer' | 'created_at' | 'updated_at'>
    const row: SignInProviderRow = { ...columns, id, issuer, created_at: now, updated_at: now }
    await this.#db.insertInto('sign_in_providers').values(row).execute()
    return toProvider(row)
  }

  async find(id: string): Promise<SignInProvider | undefined> {
    const row = await this.#db.selectFrom('sign_in_providers').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toProvider(row)
  }

  /** The encrypted client secret; null for public clients. */
  async sealedSecret(id: string): Promise<string | null> {
    const query = this.#db.selectFrom('sign_in_providers').select('client_secret').where('id', '=', id)
    return (await query.executeTakeFirst())?.client_secret ?? null
  }

  list(window: Window, visible: Visible): Promise<Page<SignInProvider>> {
    return pageOfRows(this.#db.selectFrom('sign_in_providers'), window, visible, toProvider, { facts: ['id'] })
  }

  async listEnabled(): Promise<Pick<SignInProvider, 'id' | 'name'>[]> {
    const query = this.#db.selectFrom('sign_in_providers').select(['id', 'name']).where('enabled', '=', 1)
    return query.orderBy('id').execute()
  }

  async update(id: string, change: Partial<SignInProviderDraft>): Promise<SignInProvider | undefined> {
    const row = await this.#db
      .updateTable('sign_in_providers')
      .set({ ...toColumns(change), updated_at: Date.now() })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst()
    return row && toProvider(row)
  }

  async remove(id: string): Promise<void> {
    await this.#db.deleteFrom('sign_in_providers').where('id', '=', id).execute()
  }
}
