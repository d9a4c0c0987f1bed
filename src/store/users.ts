import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { type Guard, guarded } from '../db/guarded.ts'
import { parse, printList } from '../db/json.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { UserRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'
import { roleOf, type User, type UserStatus } from '../model/user.ts'

const time = (milliseconds: number | null) => (milliseconds === null ? null : iso(milliseconds))

const toUser = (row: UserRow): User => {
  const access_policy_ids = JSON.parse(row.access_policy_ids) as string[]
  return {
    id: row.id,
    project_id: row.project_id,
    email: row.email,
    name: row.name,
    role: roleOf(access_policy_ids),
    access_policy_ids,
    modes: parse(row.modes) ?? [],
    status: row.status as UserStatus,
    has_password: row.password_hash !== null,
    sso_issuer: row.sso_issuer,
    invitation_expires_at: time(row.invitation_expires_at),
    created_by: row.created_by,
    last_seen_at: time(row.last_seen_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  }
}

/** An open invitation: the hash of its token, and when it expires. */
export type Invitation = Pick<UserRow, 'invitation_hash' | 'invitation_expires_at'>

export interface NewUser extends Partial<Invitation & Pick<UserRow, 'sso_issuer' | 'sso_subject'>> {
  readonly project_id: string | null
  readonly email: string
  readonly name: string
  readonly access_policy_ids: readonly string[]
  readonly modes?: readonly string[]
  readonly status: UserStatus
  readonly created_by: string | null
  readonly ancestors: readonly string[]
}

/** A change that does not affect who is an administrator. */
type Change = Partial<Omit<UserRow, 'id' | 'access_policy_ids' | 'status' | 'project_id'>>

export interface UserChange {
  readonly name?: string
  readonly access_policy_ids?: readonly string[]
  readonly modes?: readonly string[]
  readonly status?: UserStatus
}

export class Users {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  get #db() {
    return this.#engine.db
  }

  async create({ access_policy_ids, ancestors, modes = [], ...user }: NewUser): Promise<User> {
    const now = Date.now()
    const row: UserRow = {
      ...{ password_hash: null, sso_issuer: null, sso_subject: null, last_seen_at: null },
      ...{ invitation_hash: null, invitation_expires_at: null },
      ...user,
      id: newId('usr', now),
      access_policy_ids: JSON.stringify(access_policy_ids),
      ancestors: JSON.stringify(ancestors),
      modes: printList(modes),
      signed_out_at: 0,
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'person', user.email, () => this.#db.insertInto('users').values(row).execute())
    await this.#changes.publish('users', [row.id])
    return toUser(row)
  }

  async find(id: string): Promise<User | undefined> {
    const row = await this.findRow('id', id)
    return row && toUser(row)
  }

  findRow(by: 'id' | 'email' | 'invitation_hash', value: string): Promise<UserRow | undefined> {
    return this.#db.selectFrom('users').selectAll().where(by, '=', value).executeTakeFirst()
  }

  findByAccount(issuer: string, subject: string): Promise<UserRow | undefined> {
    const account = this.#db.selectFrom('users').selectAll().where('sso_issuer', '=', issuer)
    return account.where('sso_subject', '=', subject).executeTakeFirst()
  }

  /** The principals that may be these people, by person. Without people who cannot sign in. */
  async ancestorsOf(ids: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const people = ids.filter((id) => id.startsWith('usr_'))
    if (people.length === 0) return new Map()
    const query = this.#db.selectFrom('users').select(['id', 'ancestors']).where('id', 'in', people)
    const rows = await query.where('status', '=', 'active').execute()
    return new Map(rows.map(({ id, ancestors }) => [id, JSON.parse(ancestors)]))
  }

  /** Whether there are any people. */
  async exist(): Promise<boolean> {
    return (await this.#db.selectFrom('users').select('id').limit(1).execute()).length > 0
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<User>> {
    let where = this.#db.selectFrom('users')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toUser)
  }

  async update(id: string, fields: UserChange, guard?: Guard): Promise<User | undefined> {
    const { access_policy_ids, modes, ...change } = fields
    const row = await guarded(this.#engine, guard, (db) =>
      db
        .updateTable('users')
        .set({
          ...change,
          ...(modes && { modes: printList(modes) }),
          ...(access_policy_ids && { access_policy_ids: JSON.stringify(access_policy_ids) }),
          updated_at: Date.now(),
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    await this.#changes.publish('users', [id])
    return row && toUser(row)
  }

  /** Replaces the open invitation, and forgets the company account, which is linked again at the next sign-in with it. */
  async invite(id: string, invitation: Invitation, ancestors: readonly string[]): Promise<User | undefined> {
    const before = JSON.parse((await this.findRow('id', id))?.ancestors ?? '[]') as string[]
    const all = JSON.stringify([...new Set([...before, ...ancestors])])
    return this.#write(id, { ...invitation, ancestors: all, sso_issuer: null, sso_subject: null })
  }

  /** Uses an invitation: sets the password and ends all sessions. Undefined if it has been used or replaced. */
  async accept(invitationHash: string, account: { name?: string; password_hash: string }): Promise<User | undefined> {
    const now = Date.now()
    const row = await this.#db
      .updateTable('users')
      .set({
        ...account,
        ...{ status: 'active', invitation_hash: null, invitation_expires_at: null },
        ...{ signed_out_at: now, updated_at: now },
      })
      .where('invitation_hash', '=', invitationHash)
      .where('invitation_expires_at', '>', now)
      .where('status', '!=', 'disabled')
      .returningAll()
      .executeTakeFirst()
    if (row) await this.#changes.publish('users', [row.id])
    return row && toUser(row)
  }

  /** Sets a new password and ends all sessions. Undefined if the password has changed since it was verified. */
  async setPassword(id: string, before: string, hash: string): Promise<User | undefined> {
    const now = Date.now()
    const row = await this.#db
      .updateTable('users')
      .set({ password_hash: hash, signed_out_at: now, updated_at: now })
      .where('id', '=', id)
      .where('password_hash', '=', before)
      .returningAll()
      .executeTakeFirst()
    await this.#changes.publish('users', [id])
    return row && toUser(row)
  }

  /**
   * Links a company account to a person without one, who is active from then on and needs no invitation. Undefined if
   * another one was linked.
   */
  async link(id: string, issuer: string, subject: string): Promise<User | undefined> {
    const row = await this.#db
      .updateTable('users')
      .set({
        ...{ sso_issuer: issuer, sso_subject: subject, status: 'active', updated_at: Date.now() },
        ...{ invitation_hash: null, invitation_expires_at: null },
      })
      .where('id', '=', id)
      .where('sso_issuer', 'is', null)
      .where('status', '!=', 'disabled')
      .returningAll()
      .executeTakeFirst()
    await this.#changes.publish('users', [id])
    return row && toUser(row)
  }

  /** Ends all sessions. */
  async signOut(id: string): Promise<void> {
    await this.#write(id, { signed_out_at: Date.now() })
  }

  async #write(id: string, change: Change): Promise<User | undefined> {
    const query = this.#db.updateTable('users').set({ ...change, updated_at: Date.now() })
    const row = await query.where('id', '=', id).returningAll().executeTakeFirst()
    await this.#changes.publish('users', [id])
    return row && toUser(row)
  }

  /** No change event: this does not affect what the person can do. */
  async touch(id: string, seenAt: number): Promise<void> {
    await this.#db.updateTable('users').set({ last_seen_at: seenAt }).where('id', '=', id).execute()
  }

  async remove(id: string, guard?: Guard): Promise<void> {
    await guarded(this.#engine, guard, (db) => db.deleteFrom('users').where('id', '=', id).execute())
    await this.#changes.publish('users', [id])
  }
}
