import type { ValidCall } from '../dispatch/call.ts'
import type { Gate } from '../model/approval.ts'
import type { ApprovalRule } from '../model/approval-rule.ts'
import { transportOf } from '../model/call.ts'
import { allowsLevel } from '../model/mode.ts'
import { type Condition, callBudget, type RuleInput } from './expression.ts'

/** An approval rule with its compiled condition. */
export interface CompiledRule extends Pick<ApprovalRule, 'id' | 'name' | 'reason' | 'timeout_seconds' | 'two_people'> {
  readonly applies: Condition
}

export interface ApprovalRequirement {
  readonly why: readonly Gate[]
  /** The timeout set by a rule, the tool or the server, if any. */
  readonly seconds: number | null
  readonly people: 1 | 2
}

/** Returns the approval that a call requires; undefined if no gate requires one. A single gate is enough. */
export function requirementFor(call: ValidCall, rules: readonly CompiledRule[]): ApprovalRequirement | undefined {
  if (rules.length === 0 && !asks(call)) return undefined
  const { tool } = call.entry
  const applying = rules.length > 0 ? rulesThatAsk(call, rules) : []
  const why = [...ofTool(call), ...ofServer(call), ...ofWorkflow(call), ...applying.map(({ gate }) => gate)]
  if (why.length === 0) return undefined
  const limits = applying.flatMap(({ rule }) => rule.timeout_seconds ?? [])
  const seconds = tool.approval_timeout_seconds ?? call.server?.approval_timeout_seconds ?? null
  return {
    why,
    seconds: limits.length > 0 ? Math.min(...limits) : seconds,
    people: applying.some(({ rule }) => rule.two_people) ? 2 : 1,
  }
}

type AskingCall = Pick<ValidCall, 'entry' | 'prepared' | 'server' | 'requiresApproval' | 'modes'>

/** Whether the tool or the server requires approval. A fast path, because most calls need none. */
export const asks = (call: AskingCall): boolean => {
  const { entry, prepared, server, requiresApproval } = call
  const isDestructive = entry.tool.ask_destructive && prepared.action.destructive
  const isAsked = requiresApproval !== undefined || server?.auto_approve === false
  return isAsked || isDestructive || !isAutoApproved(call)
}

/** Modes that include the level of an action stand for the approval that the level alone would require. */
const isAutoApproved = ({ prepared: { action }, modes }: AskingCall): boolean =>
  action.autoApprove ||
  (action.approvalSetting === null && modes !== undefined && modes.every((mode) => allowsLevel(mode, action.level)))

function ofTool(call: ValidCall): Gate[] {
  const { tool } = call.entry
  const { action } = call.prepared
  const named = { id: tool.id, name: tool.name }
  const gates: Gate[] = []
  if (!isAutoApproved(call)) {
    const gate = action.approvalSetting === false ? 'tool' : 'level'
    gates.push({ gate, ...named, ...(gate === 'level' && { reason: `its level is ${action.level}` }) })
  }
  if (tool.ask_destructive && action.destructive) gates.push({ gate: 'annotation', ...named, reason: 'destructive' })
  return gates
}

const ofServer = ({ server }: ValidCall): Gate[] =>
  server?.auto_approve === false ? [{ gate: 'server', id: server.id, name: server.slug }] : []

const ofWorkflow = ({ requiresApproval }: ValidCall): Gate[] =>
  requiresApproval ? [{ gate: 'workflow', ...requiresApproval }] : []

/** A rule that cannot be evaluated for a call also requires approval: it fails closed. */
function rulesThatAsk(call: ValidCall, rules: readonly CompiledRule[]): { rule: CompiledRule; gate: Gate }[] {
  const facts = factsOf(call)
  const budget = callBudget()
  return rules.flatMap((rule) => {
    const { id, name, reason, applies } = rule
    const gate: Gate = { gate: 'rule', id, name, ...(reason !== null && { reason }) }
    try {
      return applies(facts, budget) ? [{ rule, gate }] : []
    } catch (error) {
      const unsure = `The rule could not be evaluated for this call: ${(error as Error).message}.`
      return [{ rule, gate: { ...gate, reason: reason === null ? unsure : `${unsure} ${reason}` } }]
    }
  })
}

const factsOf = ({
  merged,
  entry: { tool },
  prepared,
  principal,
  generation,
  server,
  surface,
}: ValidCall): RuleInput => {
  const { id, app, name, level, idempotent, destructive } = prepared.action
  return {
    input: merged,
    action: { id, app, name, level, idempotent, destructive },
    tool: { id: tool.id, name: tool.name },
    principal: { id: principal.id, name: principal.name },
    agent: generation ? { id: generation.agentId } : null,
    server: server ? { id: server.id, slug: server.slug } : null,
    surface: transportOf(surface),
  }
}
