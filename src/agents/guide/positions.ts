import { isObject } from '../../lib/json.ts'
import { builtIns, type Guide, type GuideMatch, type Routine, type RoutineNode } from '../../model/guide.ts'
import type { RoutinePosition } from '../../model/session.ts'
import type { JournalCall } from '../../store/journal.ts'

/*
 * A position is where a session is in a routine. It is `active` from the start of the routine until one of these: its last
 * node is done (`completed`), the customer wants something else (`left`), or a person takes over (`handed_over`).
 *
 * The current node becomes `done`: a chat node when the agent has replied, a tool node when one of its tools has run, a
 * think node when its output is valid, a routing node at once. A node that is done is left by one of its transitions.
 */

export const routineOf = (guide: Guide, { routine_id }: Pick<RoutinePosition, 'routine_id'>): Routine | undefined =>
  guide.routines.find(({ id }) => id === routine_id)

export const nodeOf = (routine: Routine, id: string): RoutineNode | undefined =>
  routine.nodes.find((node) => node.id === id)

/** The current node of an active routine; undefined if the routine has changed and no longer has it. */
export function currentNode(guide: Guide, position: RoutinePosition): RoutineNode | undefined {
  const routine = position.status === 'active' ? routineOf(guide, position) : undefined
  return routine && nodeOf(routine, position.node_id)
}

export const started = ({ id, entry }: Routine, reason: string | null): RoutinePosition => ({
  routine_id: id,
  node_id: entry,
  status: 'active',
  done: false,
  visited: [entry],
  reason,
})

/** Replaces the position in the same routine, or adds it. */
export const withPosition = (positions: readonly RoutinePosition[], position: RoutinePosition): RoutinePosition[] => [
  ...positions.filter(({ routine_id }) => routine_id !== position.routine_id),
  position,
]

/** The tools that ran, with their ids: not those that were refused or could not be reached. */
export const hasRun = ({ output, is_error }: JournalCall): boolean =>
  output !== undefined &&
  !(is_error && isObject(output) && isObject(output.error) && typeof output.error.code === 'string')

export const isOk = ({ output }: JournalCall): boolean => isObject(output) && output.ok === true

/** Marks nodes as done whose tools have run. */
export function afterCalls(
  positions: readonly RoutinePosition[],
  calls: readonly { readonly call: JournalCall; readonly toolId: string }[],
  guide: Guide,
): RoutinePosition[] {
  return positions.map((position) => {
    const node = currentNode(guide, position)
    if (!node || position.done) return position
    const isDone = calls.some(({ call, toolId }) => {
      if (toolId === builtIns.reason) return node.kind === 'think' && isOk(call)
      if (toolId === builtIns.emitOutput) return node.tools.includes(toolId) && isOk(call)
      return node.kind === 'tool' && node.tools.includes(toolId) && hasRun(call)
    })
    return isDone ? finished(position, node) : position
  })
}

/** After a reply, the chat nodes that it was about are done: not those of routines that a priority silenced. */
export const afterReply = (
  positions: readonly RoutinePosition[],
  guide: Guide,
  matches: readonly GuideMatch[],
): RoutinePosition[] =>
  positions.map((position) => {
    // The customer has been told.
    if (position.status === 'handed_over') return { ...position, done: true }
    const node = currentNode(guide, position)
    const isSilenced = matches.some(({ id, by }) => by === 'priority' && id === `routine:${position.routine_id}`)
    return node?.kind === 'chat' && !isSilenced ? finished(position, node) : position
  })

const finished = (position: RoutinePosition, { transitions }: RoutineNode): RoutinePosition => ({
  ...position,
  done: true,
  ...(transitions.length === 0 && { status: 'completed' as const }),
})

/** Moves to a node. Going back forgets the nodes after it. */
export function moved(position: RoutinePosition, to: string, reason: string | null): RoutinePosition {
  const earlier = position.visited.indexOf(to)
  const visited = earlier < 0 ? [...position.visited, to] : position.visited.slice(0, earlier + 1)
  return { ...position, node_id: to, done: false, visited, reason }
}

/**
 * The nodes that a session may go to from a node that is done: along transitions, past chat and routing nodes, but not past a
 * tool or think node, which completes only by running. And back to any node before.
 */
export function reachable(routine: Routine, { node_id, visited }: RoutinePosition): string[] {
  const found = new Set<string>()
  const open = nodeOf(routine, node_id)?.transitions.map(({ to }) => to) ?? []
  for (let id = open.shift(); id !== undefined; id = open.shift()) {
    if (found.has(id)) continue
    found.add(id)
    const node = nodeOf(routine, id)
    if (node?.kind === 'chat' || node?.kind === 'routing') open.push(...node.transitions.map(({ to }) => to))
  }
  return [...found, ...visited.filter((id) => id !== node_id && !found.has(id) && nodeOf(routine, id))]
}
