import type { Guide } from '../../model/guide.ts'
import type { GuideState } from '../../model/session.ts'
import type { Run } from '../../store/generations.ts'
import type { Journal } from '../../store/journal.ts'
import { policyId } from './match.ts'
import { afterCalls, afterReply } from './positions.ts'
import { fetchedIn } from './variables.ts'

/**
 * What the guide remembers after a turn: the positions, the variables, and which policies need not be applied again.
 * Undefined if nothing has changed.
 */
export function stateAfterTurn(
  run: Pick<Run, 'status' | 'content'>,
  journal: Journal,
  { once, variables }: GuideState,
  guide: Guide,
): GuideState | undefined {
  const { steps, calls } = journal
  const last = steps.findLast((step) => step.guide !== null)
  if (!last?.guide) return undefined
  // A turn that was cancelled before it did anything leaves no trace.
  if (run.status !== 'completed' && calls.length === 0) return undefined
  const { actions, routines, fetch, matches } = last.guide
  const own = calls
    .filter((call) => call.step === last.number)
    .map((call) => ({ call, toolId: idOf(call.tool_id, call.action, call.tool_name, actions ?? []) }))
  const positions = fetch ? routines : afterCalls(routines, own, guide)
  const hasReplied = run.status === 'completed' && (run.content ?? '') !== ''
  const isApplied = (id: string) => matches.some((match) => match.applies && match.id === id)
  const applied = guide.policies.filter((policy) => policy.repeat === 'once' && isApplied(policyId(policy)))
  return {
    routines: hasReplied ? afterReply(positions, guide, matches) : positions,
    once: hasReplied ? [...new Set([...once, ...applied.map(({ id }) => id)])] : once,
    variables: { ...variables, ...fetchedIn(journal) },
  }
}

/** The canonical id of a tool that was called, without its catalogue: among the actions that the step offered. */
const idOf = (toolId: string | null, action: string | null, name: string, offered: readonly string[]): string =>
  toolId === null
    ? (action ?? name)
    : (offered.find(
        (id) => id.slice(id.indexOf(':') + 1) === action && name.startsWith(id.slice(0, id.indexOf(':'))),
      ) ?? name)
