import { builtIns, type Guide, type GuideMatch, type Policy, type RoutineNode } from '../../model/guide.ts'
import type { RoutinePosition } from '../../model/session.ts'
import { policyId, routineId } from './match.ts'
import { currentNode, routineOf } from './positions.ts'

/** What applies in a step. */
export interface Applying {
  readonly policies: readonly Policy[]
  /** The current nodes of the active routines that no priority silences. */
  readonly nodes: readonly { readonly node: RoutineNode; readonly position: RoutinePosition }[]
  readonly handedOver: boolean
}

export function applyingOf(
  guide: Guide,
  matches: readonly GuideMatch[],
  positions: readonly RoutinePosition[],
): Applying {
  const applies = new Set(matches.filter((match) => match.applies).map(({ id }) => id))
  const silenced = new Set(matches.filter(({ by }) => by === 'priority').map(({ id }) => id))
  return {
    policies: guide.policies.filter((policy) => policy.applies_to === 'turn' && applies.has(policyId(policy))),
    nodes: positions.flatMap((position) => {
      const node = currentNode(guide, position)
      const isSilenced = silenced.has(routineId({ id: position.routine_id }))
      return node && !position.done && !isSilenced ? [{ node, position }] : []
    }),
    handedOver: positions.some(({ status, done }) => status === 'handed_over' && !done),
  }
}

interface GuidanceParts {
  /** Whether the step has to reply. */
  readonly last: boolean
  /** What to ask the customer for, after calls that lacked it. */
  readonly missing: readonly string[]
  /** In which order to ask for the arguments of these tools. */
  orderOf(tools: readonly string[]): string
  /** The texts that the reply can be. */
  readonly replies: readonly string[]
}

const order = { high: 0, medium: 1, low: 2 }

/** The instructions of a step, in words. Undefined parts are left out; null if there are none. */
export function guidanceOf(
  guide: Guide,
  { policies, nodes, handedOver }: Applying,
  { last, missing, orderOf, replies }: GuidanceParts,
): string | null {
  const sorted = [...policies].sort((a, b) => order[a.criticality] - order[b.criticality])
  const rules = sorted.map(
    ({ action, tools, criticality }) =>
      `- ${criticality === 'high' ? 'Always: ' : ''}${action}${tools.length > 0 && !last ? ` (tools: ${tools.join(', ')})` : ''}`,
  )
  const steps = nodes.map(({ node, position }) => {
    const text = stepText(node, routineOf(guide, position)?.title ?? '', last)
    return node.kind === 'tool' && !last ? `${text}${orderOf(node.tools)}` : text
  })
  const parts = [
    ...(rules.length > 0 ? [`Follow these policies:\n${rules.join('\n')}`] : []),
    ...steps,
    ...missing,
    ...(handedOver ? ['A person takes over this conversation. Tell the customer, and do not go on yourself.'] : []),
    ...(last && nodes.length + policies.length > 0
      ? ['Do not call tools any more. Reply now with what you know.']
      : []),
    ...replies,
  ]
  return parts.length === 0 ? null : `[guidance]\n${parts.join('\n\n')}`
}

function stepText({ kind, text, tools, id }: RoutineNode, title: string, last: boolean): string {
  const where = `Current step of "${title}" (${id}):`
  if (kind === 'chat') return `${where} ${text}`
  if (kind === 'think') return `${where} think about this, then call built-in_reason with the result: ${text}`
  if (tools.includes(builtIns.emitOutput)) {
    return `${where} call built-in_emit_output with the final output.${text === '' ? '' : ` ${text}`}`
  }
  const missing =
    'Take the arguments from the conversation. If a required argument is missing, do not guess it and do not call the tool: ask the customer for it.'
  return last ? `${where} it could not be completed.` : `${where} call ${tools.join(' or ')}. ${text} ${missing}`
}
