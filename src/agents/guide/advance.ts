import type { JsonObject } from '../../lib/json.ts'
import type { Guide, Routine, RoutineNode } from '../../model/guide.ts'
import type { RoutinePosition } from '../../model/session.ts'
import type { ModelQuestions } from './model-questions.ts'
import { currentNode, moved, nodeOf, reachable, routineOf } from './positions.ts'
import { routeQuestion } from './prompts.ts'
import { evaluateWhen, type WhenFacts } from './when.ts'

export interface Advancing {
  /** Collects think nodes whose outputs do not hold any more. */
  readonly obsolete: string[]
  readonly guide: Guide
  readonly facts: WhenFacts
  readonly questions: ModelQuestions
  readonly prefix: { readonly system: string; readonly conversation: string }
}

/** More than any routine has in a row. */
const maxMoves = 50

/** Follows transitions until the routine is at a node that is not done, or has ended. */
export async function advance(position: RoutinePosition, advancing: Advancing): Promise<RoutinePosition> {
  let current = position
  for (let moves = 0; moves < maxMoves; moves++) {
    const routine = routineOf(advancing.guide, current)
    const node = currentNode(advancing.guide, current)
    // A changed manifest may have removed the node.
    if (!routine || !node)
      return current.status === 'active' ? { ...current, status: 'left', reason: 'the node was removed' } : current
    if (!current.done && node.kind !== 'routing') return current
    const next = await step(current, node, routine, advancing)
    if (next === current || next.status !== 'active') return next
    current = next
  }
  return current
}

async function step(
  position: RoutinePosition,
  node: RoutineNode,
  routine: Routine,
  advancing: Advancing,
): Promise<RoutinePosition> {
  const { questions, facts } = advancing
  if (node.transitions.length === 0) return { ...position, done: true, status: 'completed' }
  for (const { to, when } of node.transitions.filter(({ condition }) => condition === null)) {
    if (when === null) continue
    const { holds, fault } = evaluateWhen(when, facts)
    if (fault !== undefined) questions.faults.push(`routine:${routine.id}, transition to ${to}: ${fault}`)
    if (holds) return moved(position, to, when)
  }
  const otherwise = node.transitions.find(({ condition, when }) => condition === null && when === null)
  const isWorded = node.transitions.some(({ condition }) => condition !== null)
  // After a chat node, the customer may have changed the subject or corrected an earlier answer.
  if (!isWorded && node.kind !== 'chat') return otherwise ? moved(position, otherwise.to, null) : position
  return choose(position, node, routine, advancing)
}

interface Choice {
  readonly command: 'go' | 'stay' | 'leave' | 'hand_over'
  readonly to: string
  readonly reason: string | null
}

async function choose(
  position: RoutinePosition,
  node: RoutineNode,
  routine: Routine,
  { questions, prefix }: Advancing,
): Promise<RoutinePosition> {
  const allowed = reachable(routine, position)
  const options = node.transitions.map(({ to, condition }) => (condition === null ? to : `${to} (if ${condition})`))
  const choice = await questions.ask<Choice>({
    kind: 'route',
    system: prefix.system,
    user: `${prefix.conversation}\n\n${routeQuestion(routine, position, options)}`,
    about: JSON.stringify(routine),
    read: (answer) => readChoice(answer, allowed),
  })
  const otherwise = node.transitions.find(({ condition, when }) => condition === null && when === null)
  if (!choice) return otherwise ? moved(position, otherwise.to, 'the model gave no usable answer') : position
  const { command, to, reason } = choice
  if (command === 'leave') return { ...position, status: 'left', reason }
  if (command === 'hand_over') return { ...position, status: 'handed_over', done: false, reason }
  if (command === 'go') return moved(position, to, reason)
  // A chat node that needs another answer talks again. Other nodes have nothing left to do.
  return node.kind === 'chat' ? { ...position, done: false, reason } : position
}

function readChoice({ command, to, reason }: JsonObject, allowed: readonly string[]): Choice | string {
  const why = typeof reason === 'string' ? reason : null
  if (command === 'stay' || command === 'leave' || command === 'hand_over') return { command, to: '', reason: why }
  if (command !== 'go' && command !== undefined) return '"command" must be go, stay, leave or hand_over'
  if (typeof to !== 'string' || !allowed.includes(to)) return `"to" must be one of ${allowed.join(', ')}`
  return { command: 'go', to, reason: why }
}

/** The think nodes whose outputs do not hold any more, because the session went back before them. */
export function obsoleteNodes(before: RoutinePosition, after: RoutinePosition, guide: Guide): string[] {
  const routine = routineOf(guide, after)
  if (!routine || before.routine_id !== after.routine_id) return []
  const gone = before.visited.filter((id) => !after.visited.includes(id))
  const isBack = after.visited.length < before.visited.length
  const again = isBack ? [...gone, after.node_id] : []
  return again.filter((id) => nodeOf(routine, id)?.kind === 'think')
}
