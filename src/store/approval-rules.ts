import type { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { pageOfRows, type Visible } from '../db/page.ts'
import type { ApprovalRuleRow } from '../db/tables.ts'
import { uniquely } from '../db/unique.ts'
import type { ApprovalRule, ApprovalRuleDraft } from '../model/approval-rule.ts'
import { newId } from '../model/ids.ts'
import { iso, type Page, type Window } from '../model/page.ts'

const toRule = (row: ApprovalRuleRow): ApprovalRule => ({
  id: row.id,
  project_id: row.project_id,
  name: row.name,
  enabled: row.enabled === 1,
  expression: row.expression,
  timeout_seconds: row.timeout_seconds,
  two_people: row.two_people === 1,
  reason: row.reason,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const toColumns = (draft: ApprovalRuleDraft) => ({
  name: draft.name,
  enabled: Number(draft.enabled),
  expression: draft.expression,
  timeout_seconds: draft.timeout_seconds,
  two_people: Number(draft.two_people),
  reason: draft.reason,
})

export class ApprovalRules {
  readonly #engine: Engine
  readonly #changes: ChangeEvents

  constructor(engine: Engine, changes: ChangeEvents) {
    this.#engine = engine
    this.#changes = changes
  }

  /** Change events contain the project id, because the rules of a project are cached together. */
  async create(projectId: string, draft: ApprovalRuleDraft): Promise<ApprovalRule> {
    const now = Date.now()
    const row: ApprovalRuleRow = {
      id: newId('rule', now),
      project_id: projectId,
      ...toColumns(draft),
      created_at: now,
      updated_at: now,
    }
    await uniquely(this.#engine, 'approval rule', draft.name, () =>
      this.#engine.db.insertInto('approval_rules').values(row).execute(),
    )
    await this.#changes.publish('approval_rules', [projectId])
    return toRule(row)
  }

  async find(id: string): Promise<ApprovalRule | undefined> {
    const row = await this.#engine.db.selectFrom('approval_rules').selectAll().where('id', '=', id).executeTakeFirst()
    return row && toRule(row)
  }

  list(filter: { project_id?: string } & Window, visible: Visible): Promise<Page<ApprovalRule>> {
    let where = this.#engine.db.selectFrom('approval_rules')
    if (filter.project_id) where = where.where('project_id', '=', filter.project_id)
    return pageOfRows(where, filter, visible, toRule)
  }

  async enabled(projectId: string): Promise<ApprovalRule[]> {
    const query = this.#engine.db.selectFrom('approval_rules').selectAll().where('project_id', '=', projectId)
    return (await query.where('enabled', '=', 1).orderBy('id').execute()).map(toRule)
  }

  async count(projectId: string): Promise<number> {
    const row = await this.#engine.db
      .selectFrom('approval_rules')
      .select((e) => e.fn.countAll<number>().as('n'))
      .where('project_id', '=', projectId)
      .executeTakeFirstOrThrow()
    return Number(row.n)
  }

  async update(id: string, draft: ApprovalRuleDraft): Promise<ApprovalRule | undefined> {
    const row = await uniquely(this.#engine, 'approval rule', draft.name, () =>
      this.#engine.db
        .updateTable('approval_rules')
        .set({ ...toColumns(draft), updated_at: Date.now() })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    )
    if (row) await this.#changes.publish('approval_rules', [row.project_id])
    return row && toRule(row)
  }

  async remove({ id, project_id: projectId }: Pick<ApprovalRule, 'id' | 'project_id'>): Promise<void> {
    await this.#engine.db.deleteFrom('approval_rules').where('id', '=', id).execute()
    await this.#changes.publish('approval_rules', [projectId])
  }
}
