import type { Guide } from '../../model/guide.ts'
import type { RoutineRunState } from '../../model/session.ts'

/**
 * How many steps of a turn may call tools. The run of an autonomous routine has to get through all of its nodes in one turn,
 * so it has one more for each.
 */
export function iterationsOf(guide: Guide, run: Pick<RoutineRunState, 'routine_id'> | null): number {
  const nodes = run ? (guide.routines.find(({ id }) => id === run.routine_id)?.nodes.length ?? 0) : 0
  return guide.max_engine_iterations + nodes
}
