import type { SelectQueryBuilder } from 'kysely'
import type { Engine } from '../db/engine.ts'
import type { Notices } from '../db/notices.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ApprovalRow, Tables } from '../db/tables.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Approval, ApprovalStatus, ApprovalSummary, Decision } from '../model/approval.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'

/** Arguments are kept whole, for they are what runs. Where there is a vault for secrets, these two use it. */
const seal = (input: JsonObject): string => JSON.stringify(input)
const unseal = (text: string): JsonObject => JSON.parse(text)

const person = (id: string | null, name: string | null) => (id === null ? null : { id, name: name ?? '' })
const time = (milliseconds: number | null) => (milliseconds === null ? null : iso(milliseconds))

/** All but the arguments, which may be large. */
const summaryColumns = [
  ...([
    'id',
    'project_id',
    'call_id',
    'tool_id',
    'tool',
    'action',
    'status',
    'args_hash',
    'preset_keys',
    'secret_paths',
  ] as const),
  ...(['definition_hash', 'principal_id', 'principal_name', 'surface', 'client_name', 'client_version'] as const),
  ...(['agent_id', 'generation_id', 'server_id', 'why', 'approvals_needed', 'decisions', 'decided_by'] as const),
  ...(['decided_by_name', 'decided_at', 'reason', 'expires_at', 'used_at', 'created_at'] as const),
]

const toSummary = (row: Pick<ApprovalRow, (typeof summaryColumns)[number]>): ApprovalSummary => ({
  id: row.id,
  project_id: row.project_id,
  call_id: row.call_id,
  tool_id: row.tool_id,
  tool: row.tool,
  action: row.action,
  status: row.status as ApprovalStatus,
  args_hash: row.args_hash,
  preset_keys: JSON.parse(row.preset_keys),
  secret_paths: row.secret_paths === null ? [] : JSON.parse(row.secret_paths),
  definition_hash: row.definition_hash,
  principal: { id: row.principal_id, name: row.principal_name },
  surface: row.surface as Approval['surface'],
  client: { name: row.client_name, version: row.client_version },
  agent_id: row.agent_id,
  generation_id: row.generation_id,
  server_id: row.server_id,
  why: JSON.parse(row.why),
  approvals_needed: row.approvals_needed,
  decisions: JSON.parse(row.decisions),
  decided_by: person(row.decided_by, row.decided_by_name),
  decided_at: time(row.decided_at),
  reason: row.reason,
  expires_at: iso(row.expires_at),
  used_at: time(row.used_at),
  created_at: iso(row.created_at),
})

const toApproval = (row: ApprovalRow): Approval => ({
  ...toSummary(row),
  sensitive: [],
  input: unseal(row.input),
  edited_input: row.edited_input === null ? null : unseal(row.edited_input),
})

type Given = 'project_id' | 'call_id' | 'tool_id' | 'tool' | 'action' | 'args_hash' | 'preset_keys' | 'secret_paths'
type Asker = 'definition_hash' | 'principal' | 'surface' | 'client' | 'agent_id' | 'generation_id' | 'server_id'

export interface ApprovalDraft extends Pick<Approval, Given | Asker | 'why' | 'approvals_needed' | 'input'> {
  /** The same for the same call of the same caller: only one of them is open at a time. */
  readonly repeat_hash: string
  /** In milliseconds. */
  readonly expires_at: number
}

export interface ApprovalFilter {
  readonly project_id?: string
  readonly status?: string
  readonly tool_id?: string
  readonly agent_id?: string
  readonly principal_id?: string
}

/** What became of an approval (approved, rejected, expired, cancelled), and how long that took. */
export interface Verdict {
  readonly verdict: string
  readonly seconds: number
}

/** What a decision changes. */
export interface Decided {
  readonly status: 'pending' | 'approved' | 'rejected'
  readonly decisions: readonly Decision[]
  readonly by: { readonly id: string; readonly name: string } | null
  readonly at: number | null
  readonly reason: string | null
  readonly args_hash: string
  readonly edited_input: JsonObject | null
  readonly expires_at: number
}

/**
 * Decisions on calls. Each change is one statement that names the state it starts from, so of those who change an
 * approval at the same moment one succeeds, on whichever process.
 */
export class Approvals {
  readonly #engine: Engine
  readonly #notices: Notices
  readonly #verdicts = new Set<(verdict: Verdict) => void>()

  constructor(engine: Engine, notices: Notices) {
    this.#engine = engine
    this.#notices = notices
  }

  /** Undefined where the same call is open already. */
  async create(draft: ApprovalDraft, now = Date.now()): Promise<Approval | undefined> {
    const { principal, client, preset_keys, secret_paths, why, input, ...rest } = draft
    const row: ApprovalRow = {
      ...rest,
      id: newId('apr', now),
      status: 'pending',
      principal_id: principal.id,
      principal_name: principal.name,
      client_name: client.name,
      client_version: client.version,
      preset_keys: JSON.stringify(preset_keys),
      secret_paths: JSON.stringify(secret_paths),
      why: JSON.stringify(why),
      input: seal(input),
      edited_input: null,
      decisions: '[]',
      decided_by: null,
      decided_by_name: null,
      decided_at: null,
      reason: null,
      used_at: null,
      closed: 0,
      created_at: now,
    }
    try {
      await this.#engine.db.insertInto('approvals').values(row).execute()
    } catch (error) {
      if (this.#engine.isDuplicate(error)) return undefined
      throw error
    }
    this.#tell([row.id])
    return toApproval(row)
  }

  async find(id: string): Promise<Approval | undefined> {
    const row = await this.#engine.db.selectFrom('approvals').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toApproval(row)
  }

  async findMany(ids: readonly string[]): Promise<ApprovalSummary[]> {
    if (ids.length === 0) return []
    const query = this.#engine.db.selectFrom('approvals').select(summaryColumns).where('id', 'in', ids)
    return (await query.orderBy('id').execute()).map(toSummary)
  }

  async findByCall(callId: string): Promise<Approval | undefined> {
    const query = this.#engine.db.selectFrom('approvals').selectAll().where('call_id', '=', callId)
    const row = await query.executeTakeFirst()
    return row && toApproval(row)
  }

  /** The one that waits for a decision on the same call, or for the call to be made. */
  async findOpen(repeatHash: string): Promise<Approval | undefined> {
    const row = await this.#engine.db
      .selectFrom('approvals')
      .selectAll()
      .where('repeat_hash', '=', repeatHash)
      .where('status', 'in', ['pending', 'approved'])
      .executeTakeFirst()
    return row && toApproval(row)
  }

  /** How many wait for a decision: all, or those that one key has asked for. */
  async countPending(principalId?: string, now = Date.now()): Promise<number> {
    let query = this.#engine.db
      .selectFrom('approvals')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('status', '=', 'pending')
      .where('expires_at', '>', now)
    if (principalId !== undefined) query = query.where('principal_id', '=', principalId)
    return Number((await query.executeTakeFirstOrThrow()).n)
  }

  /** Newest first. */
  list(filter: ApprovalFilter & Window, visible: Visible): Promise<Page<ApprovalSummary>> {
    let where = this.#engine.db.selectFrom('approvals')
    for (const field of ['project_id', 'status', 'tool_id', 'agent_id', 'principal_id'] as const) {
      const value = filter[field]
      if (value !== undefined) where = where.where(field, '=', value)
    }
    return pageOfRows(where, filter, visible, toSummary, { order: 'desc', columns: summaryColumns })
  }

  /** What became of it; undefined where it was not any more as the one who decides has seen it, or too late. */
  async decide(seen: Approval, decided: Decided, now = Date.now()): Promise<Approval | undefined> {
    const { status, decisions, by, at, reason, args_hash, edited_input, expires_at } = decided
    const row = await this.#engine.db
      .updateTable('approvals')
      .set({
        status,
        decisions: JSON.stringify(decisions),
        decided_by: by?.id ?? null,
        decided_by_name: by?.name ?? null,
        decided_at: at,
        reason,
        args_hash,
        edited_input: edited_input && seal(edited_input),
        expires_at,
      })
      .where('id', '=', seen.id)
      .where('status', '=', 'pending')
      .where('decisions', '=', JSON.stringify(seen.decisions))
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst()
    if (row) this.#tell([seen.id])
    if (row && row.status !== 'pending') this.#ended(row, now)
    return row && toApproval(row)
  }

  /** Takes the grant. For one caller only, however many ask at once: what it gets is to be done, now or never. */
  async take(id: string, now = Date.now()): Promise<Approval | undefined> {
    const row = await this.#engine.db
      .updateTable('approvals')
      .set({ status: 'used', used_at: now })
      .where('id', '=', id)
      .where('status', '=', 'approved')
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst()
    return row && toApproval(row)
  }

  /** Nobody wants the call any more. */
  cancel(which: { readonly id: string } | { readonly call_id: string } | { readonly generation_id: string }) {
    const [[field, value]] = Object.entries(which) as [['id' | 'call_id' | 'generation_id', string]]
    return this.#end('cancelled', (query) => query.where(field, '=', value))
  }

  /** What nobody has decided in time, or has approved and nobody has called in time. Returns their ids. */
  expire(now = Date.now()): Promise<string[]> {
    return this.#end('expired', (query) => query.where('expires_at', '<=', now))
  }

  async #end(status: 'cancelled' | 'expired', narrow: (query: OpenApprovals) => OpenApprovals): Promise<string[]> {
    const open = this.#engine.db.selectFrom('approvals').select('id').where('status', 'in', ['pending', 'approved'])
    const rows = await this.#engine.db
      .updateTable('approvals')
      .set({ status })
      .where('id', 'in', narrow(open as OpenApprovals))
      .where('status', 'in', ['pending', 'approved'])
      .returning(['id', 'status', 'decided_at', 'created_at'])
      .execute()
    // What was approved and never called was decided before.
    for (const row of rows) if (row.decided_at === null) this.#ended(row)
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) this.#tell(ids)
    return ids
  }

  /** Those that ended without their call, whose record has not been told. */
  async unclosed(limit: number): Promise<ApprovalSummary[]> {
    const rows = await this.#engine.db
      .selectFrom('approvals')
      .select(summaryColumns)
      .where('closed', '=', 0)
      .where('status', 'in', ['rejected', 'expired', 'cancelled'])
      .orderBy('id')
      .limit(limit)
      .execute()
    return rows.map(toSummary)
  }

  async close(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#engine.db.updateTable('approvals').set({ closed: 1 }).where('id', 'in', ids).execute()
  }

  /** Hears of each approval that was decided or ended by this process. */
  onVerdict(listener: (verdict: Verdict) => void): void {
    this.#verdicts.add(listener)
  }

  #ended({ status, created_at }: Pick<ApprovalRow, 'status' | 'created_at'>, now = Date.now()): void {
    const verdict = { verdict: status, seconds: Math.max(0, now - created_at) / 1000 }
    for (const listener of this.#verdicts) listener(verdict)
  }

  /** What has happened has happened, whether or not the others hear of it at once. */
  #tell(ids: readonly string[]): void {
    void this.#notices.tell('approvals', ids).catch(() => {})
  }
}

type OpenApprovals = SelectQueryBuilder<Tables, 'approvals', { id: string }>
