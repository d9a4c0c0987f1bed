import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { checkExpression } from '../approvals/expression.ts'
import { ruleConditionOf } from '../approvals/rule-condition.ts'
import type { PreparedAction, ToolEntry } from '../catalogue/catalogue.ts'
import { toolResource } from '../dispatch/authorize.ts'
import { InvalidExpression } from '../expressions/language.ts'
import { ApprovalRule, ApprovalRuleFields } from '../model/approval-rule.ts'
import { Surface, transportOf } from '../model/call.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import { jsonObject } from '../model/tool.ts'
import { acts, type Context, creates, lists, type RecordKind } from './operation.ts'

const rule: RecordKind<ApprovalRule> = {
  name: 'approval-rule',
  find: (id, store) => store.approvalRules.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'approval-rule', id }),
}

/** Every call of a project is checked against all of its rules. */
const maxRules = 100

const { name, expression, ...rest } = ApprovalRuleFields
const optional = z.object(rest).partial().shape

export const createApprovalRule = creates({
  name: 'create-approval-rule',
  permission: 'approval-rules:CreateApprovalRule',
  route: 'POST /approval-rules',
  summary: 'Create an approval rule',
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
    if ((await store.approvalRules.count(projectId)) >= maxRules) {
      errors.push({
        path: '',
        message: `a project can have at most ${maxRules} rules: combine some, or delete unused ones`,
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
  summary: 'Delete an approval rule; pending approvals stay pending',
  status: 204,
  on: rule,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run(_, { store, target }) {
    await store.approvalRules.remove(target)
    return null
  },
})

export const testApprovalRule = creates({
  name: 'test-approval-rule',
  permission: 'approval-rules:TestApprovalRule',
  route: 'POST /approval-rules/test',
  summary: 'Test a condition against a call, without making the call',
  example: { expression: 'input.amount > 100', tool_id: 'tool_1', input: { amount: 120 } },
  status: 200,
  kind: 'approval-rule',
  input: z.strictObject({
    project_id: Id.optional(),
    expression,
    tool_id: Id,
    action: Text.max(400).optional().describe('namespace:name; required if the tool has several actions'),
    input: jsonObject('Arguments of the call; presets are not added'),
    surface: Surface.default('mcp'),
  }),
  output: z.object({
    asks: z.boolean(),
    fault: z
      .string()
      .nullable()
      .describe('Why the condition could not be evaluated; the call would then need approval'),
  }),
  async run({ expression: text, tool_id, action, input, surface }, context) {
    const errors = faultsOf(text)
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    const { tool, prepared } = await offerOf(tool_id, action, context)
    const { id, app, name: its, level, idempotent, destructive } = prepared.action
    const { principal } = context
    try {
      const asks = ruleConditionOf(text)({
        input,
        action: { id, app, name: its, level, idempotent, destructive },
        tool: { id: tool.id, name: tool.name },
        principal: { id: principal.id, name: principal.name },
        agent: null,
        server: null,
        surface: transportOf(surface),
      })
      return { asks, fault: null }
    } catch (error) {
      return { asks: true, fault: (error as Error).message }
    }
  },
})

async function offerOf(
  toolId: string,
  action: string | undefined,
  { principal, catalogue }: Context,
): Promise<{ tool: ToolEntry['tool']; prepared: PreparedAction }> {
  const entry = await catalogue.find(toolId)
  if (!entry || !evaluate(principal, 'tools:GetTool', toolResource(entry.tool)).allowed) {
    throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'tool', id: toolId })
  }
  const actions = [...entry.actions.values()]
  const prepared =
    action === undefined && actions.length === 1 ? actions[0] : actions.find((one) => one.action.id === action)
  if (!prepared) {
    const message =
      action === undefined ? 'is missing: the tool has several actions' : `"${entry.tool.name}" has no such action`
    throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'action', message }] })
  }
  return { tool: entry.tool, prepared }
}

/** A comparison of `surface` with a value that only the client claims. */
const claimedSurface = /\bsurface\s*(?:[!=]=\s*|in\s*\[[^\]]*)["'](cli|sdk)["']|["'](cli|sdk)["']\s*[!=]=\s*surface\b/

function faultsOf(text: string): Fault[] {
  try {
    checkExpression(text)
    const [, after, before] = claimedSurface.exec(text) ?? []
    const claimed = after ?? before
    if (claimed === undefined) return []
    const message = `compares surface with "${claimed}", which never matches: calls from the command line and the SDK have the surface "rest"`
    return [{ path: 'expression', message }]
  } catch (error) {
    if (!(error instanceof InvalidExpression)) throw error
    return [{ path: 'expression', message: `is not a valid condition: ${error.message}` }]
  }
}

/** Drops undefined fields. */
const given = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
