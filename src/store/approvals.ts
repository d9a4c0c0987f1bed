import type { SelectQueryBuilder } from 'kysely'
import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ApprovalRow, Tables } from '../db/tables.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Approval, ApprovalStatus, ApprovalSummary, Decision } from '../model/approval.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'

/** The full arguments are stored, because they are executed. Both functions are the place to add encryption. */
const seal = (input: JsonObject): string => JSON.stringify(input)
const unseal = (text: string): JsonObject => JSON.parse(text)

const person = (id: string | null, name: string | null) => (id === null ? null : { id, name: name ?? '' })
const time = (milliseconds: number | null) => (milliseconds === null ? null : iso(milliseconds))

/** Everything except the arguments, which can be large. */
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

type CallFields =
  | 'project_id'
  | 'call_id'
  | 'tool_id'
  | 'tool'
  | 'action'
  | 'args_hash'
  | 'preset_keys'
  | 'secret_paths'
type CallerFields = 'definition_hash' | 'principal' | 'surface' | 'client' | 'agent_id' | 'generation_id' | 'server_id'

export interface ApprovalDraft
  extends Pick<Approval, CallFields | CallerFields | 'why' | 'approvals_needed' | 'input'> {
  /** Identifies repetitions of a call by the same caller. Only one approval per hash is open at a time. */
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

/** The final status of an approval (approved, rejected, expired, cancelled), and how long it took. */
export interface Verdict {
  readonly verdict: string
  readonly seconds: number
}

/** The columns that a decision changes. */
export interface DecisionResult {
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
 * Approvals of calls. Each change is one statement that includes the expected status. So if several processes change an
 * approval at once, exactly one succeeds.
 */
export class Approvals {
  readonly #engine: Engine
  readonly #changes: ChangeEvents
  readonly #verdicts = new Set<(verdict: Verdict) => void>()

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  /** Undefined if the same call already has an open approval. */
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

  /** The approval of the same call that is pending, or approved and not used yet. */
  async findOpen(repeatHash: string): Promise<Approval | undefined> {
    const row = await this.#engine.db
      .selectFrom('approvals')
      .selectAll()
      .where('repeat_hash', '=', repeatHash)
      .where('status', 'in', ['pending', 'approved'])
      .executeTakeFirst()
    return row && toApproval(row)
  }

  /** How many approvals are pending: all, or those requested by one key. */
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

  /** Returns the updated approval; undefined if it has changed since it was read, or has expired. */
  async decide(seen: Approval, decided: DecisionResult, now = Date.now()): Promise<Approval | undefined> {
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

  /** Uses the approval. Succeeds for exactly one caller, which must now make the call: there is no second chance. */
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

  /** The call is no longer wanted. */
  cancel(which: { readonly id: string } | { readonly call_id: string } | { readonly generation_id: string }) {
    const [[field, value]] = Object.entries(which) as [['id' | 'call_id' | 'generation_id', string]]
    return this.#end('cancelled', (query) => query.where(field, '=', value))
  }

  /** Expires approvals that were not decided, or not used, in time. Returns their ids. */
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
    // An approval that was approved but never used has already been reported.
    for (const row of rows) if (row.decided_at === null) this.#ended(row)
    const ids = rows.map(({ id }) => id)
    if (ids.length > 0) this.#tell(ids)
    return ids
  }

  /** Approvals that ended without their call, whose call record is still open. */
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

  /** Called for each approval that this process decides or ends. */
  onVerdict(listener: (verdict: Verdict) => void): void {
    this.#verdicts.add(listener)
  }

  #ended({ status, created_at }: Pick<ApprovalRow, 'status' | 'created_at'>, now = Date.now()): void {
    const verdict = { verdict: status, seconds: Math.max(0, now - created_at) / 1000 }
    for (const listener of this.#verdicts) listener(verdict)
  }

  /** The change is committed, so a failure to publish it is ignored. */
  #tell(ids: readonly string[]): void {
    void this.#changes.publish('approvals', ids).catch(() => {})
  }
}

type OpenApprovals = SelectQueryBuilder<Tables, 'approvals', { id: string }>
