import { z } from 'zod'
import { conditionOf, ExpressionFault } from '../dispatch/expression.ts'
import { ApprovalRule, ApprovalRuleFields } from '../model/approval-rule.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { acts, creates, type Kind, lists } from './operation.ts'

const rule: Kind<ApprovalRule> = {
  name: 'approval-rule',
  find: (id, store) => store.approvalRules.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'approval-rule', id }),
}

/** Every call of the project is judged by all of them. */
const mostRules = 100

const { name, expression, ...rest } = ApprovalRuleFields
const optional = z.object(rest).partial().shape

export const createApprovalRule = creates({
  name: 'create-approval-rule',
  permission: 'approval-rules:CreateApprovalRule',
  route: 'POST /approval-rules',
  summary: 'Add a rule on which calls need approval',
  example: {
    name: 'Large refunds',
    expression: 'action.id == "tools:refund" && input.amount > 100',
    reason: 'Refunds over 100 are checked.',
  },
  kind: 'approval-rule',
  input: z.strictObject({ project_id: Id.optional(), name, expression, ...optional }),
  output: ApprovalRule,
  async run({ project_id: _, ...input }, { store, projectId }) {
    const errors = faultsOf(input.expression)
    if ((await store.approvalRules.count(projectId)) >= mostRules) {
      errors.push({
        path: '',
        message: `a project has at most ${mostRules} rules: join some, or delete what is not used`,
      })
    }
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    return store.approvalRules.create(projectId, {
      enabled: true,
      timeout_seconds: null,
      two_people: false,
      reason: null,
      ...given(input),
    })
  },
})

export const listApprovalRules = lists({
  name: 'list-approval-rules',
  permission: 'approval-rules:ListApprovalRules',
  route: 'GET /approval-rules',
  summary: 'List approval rules',
  of: rule,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(ApprovalRule),
  run: (input, { store, visible }) => store.approvalRules.list(input, visible),
})

export const getApprovalRule = acts({
  name: 'get-approval-rule',
  permission: 'approval-rules:GetApprovalRule',
  route: 'GET /approval-rules/{approval_rule_id}',
  summary: 'Get an approval rule',
  on: rule,
  input: z.strictObject({ id: Id }),
  output: ApprovalRule,
  run: async (_, { target }) => target,
})

export const updateApprovalRule = acts({
  name: 'update-approval-rule',
  permission: 'approval-rules:UpdateApprovalRule',
  route: 'PATCH /approval-rules/{approval_rule_id}',
  summary: 'Change an approval rule',
  example: { enabled: false },
  on: rule,
  input: z.strictObject({ id: Id, ...z.object(ApprovalRuleFields).partial().shape }),
  output: ApprovalRule,
  async run({ id, ...change }, { store, target }) {
    const errors = change.expression === undefined ? [] : faultsOf(change.expression)
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    return (await store.approvalRules.update(id, { ...target, ...given(change) })) ?? target
  },
})

export const deleteApprovalRule = acts({
  name: 'delete-approval-rule',
  permission: 'approval-rules:DeleteApprovalRule',
  route: 'DELETE /approval-rules/{approval_rule_id}',
  summary: 'Delete an approval rule; what it has asked for stays to be decided',
  status: 204,
  on: rule,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run(_, { store, target }) {
    await store.approvalRules.remove(target)
    return null
  },
})

function faultsOf(text: string): Fault[] {
  try {
    conditionOf(text)
    return []
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error
    return [{ path: 'expression', message: `is not a condition that can be applied: ${error.message}` }]
  }
}

/** Without the fields that were not given. */
const given = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
