import type { Valid } from '../dispatch/call.ts'
import type { Gate } from '../model/approval.ts'
import type { ApprovalRule } from '../model/approval-rule.ts'
import { transportOf } from '../model/call.ts'
import { type Condition, callBudget, type Facts } from './expression.ts'

/** An approval rule that is ready to be asked. */
export interface ReadyRule extends Pick<ApprovalRule, 'id' | 'name' | 'reason' | 'timeout_seconds' | 'two_people'> {
  readonly applies: Condition
}

/** What the gates ask of a call. */
export interface Demand {
  readonly why: readonly Gate[]
  /** How long the decision may take, where someone says. */
  readonly seconds: number | null
  readonly people: 1 | 2
}

/** What must be decided on a call before it happens; undefined where no gate asks. Any that asks wins. */
export function demandOn(call: Valid, rules: readonly ReadyRule[]): Demand | undefined {
  const { tool } = call.entry
  const asking = rules.length > 0 ? rulesThatAsk(call, rules) : []
  const why = [...ofTool(call), ...ofServer(call), ...asking.map(({ gate }) => gate)]
  if (why.length === 0) return undefined
  const limits = asking.flatMap(({ rule }) => rule.timeout_seconds ?? [])
  const seconds = tool.approval_timeout_seconds ?? call.server?.approval_timeout_seconds ?? null
  return {
    why,
    seconds: limits.length > 0 ? Math.min(...limits) : seconds,
    people: asking.some(({ rule }) => rule.two_people) ? 2 : 1,
  }
}

function ofTool({ entry: { tool }, offer: { action } }: Valid): Gate[] {
  const named = { id: tool.id, name: tool.name }
  const gates: Gate[] = []
  if (!action.autoApprove) {
    const gate = tool.auto_approve === false ? 'tool' : 'level'
    gates.push({ gate, ...named, ...(gate === 'level' && { reason: `its level is ${action.level}` }) })
  }
  if (tool.ask_destructive && action.destructive) gates.push({ gate: 'annotation', ...named, reason: 'destructive' })
  return gates
}

const ofServer = ({ server }: Valid): Gate[] =>
  server?.auto_approve === false ? [{ gate: 'server', id: server.id, name: server.slug }] : []

/** A rule that cannot be applied to a call asks too: what nobody can tell is safe is for a person to look at. */
function rulesThatAsk(call: Valid, rules: readonly ReadyRule[]): { rule: ReadyRule; gate: Gate }[] {
  const facts = factsOf(call)
  const budget = callBudget()
  return rules.flatMap((rule) => {
    const { id, name, reason, applies } = rule
    const gate: Gate = { gate: 'rule', id, name, ...(reason !== null && { reason }) }
    try {
      return applies(facts, budget) ? [{ rule, gate }] : []
    } catch (error) {
      const unsure = `The rule could not be applied to this call: ${(error as Error).message}.`
      return [{ rule, gate: { ...gate, reason: reason === null ? unsure : `${unsure} ${reason}` } }]
    }
  })
}

const factsOf = ({ merged, entry: { tool }, offer, principal, generation, server, surface }: Valid): Facts => {
  const { id, app, name, level, idempotent, destructive } = offer.action
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
