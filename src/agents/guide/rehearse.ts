import type { Catalogue } from '../../catalogue/catalogue.ts'
import { PlatformError } from '../../model/errors.ts'
import type { GuideState } from '../../model/session.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import { toolboxOf } from '../toolbox.ts'
import type { GuideDeps } from './guide-deps.ts'
import { type ChangedAgent, type RehearsedTurn, rehearseTurn } from './rehearse-turn.ts'

export interface Rehearsal {
  readonly sessions: number
  readonly turns: number
  readonly changed: readonly RehearsedTurn[]
  readonly reused: number
  readonly asked: number
  readonly cost: number
  /** What could not be found out, such as questions that the model did not answer. */
  readonly faults: readonly string[]
}

export interface RehearseDeps extends GuideDeps {
  readonly catalogue: Catalogue
}

const sessionsAtOnce = 8
const maxFaults = 50

interface Total {
  turns: number
  reused: number
  asked: number
  cost: number
  readonly faults: string[]
}

/**
 * Plays recorded sessions again under a changed manifest. An answer of the model whose prompt is unchanged is reused, and
 * only the rest is asked. Nothing is written, and no tool is called: their recorded results are used.
 */
export async function rehearse(
  sessions: readonly SessionRecord[],
  agent: ChangedAgent,
  deps: RehearseDeps,
  signal: AbortSignal,
): Promise<Rehearsal> {
  const changed = new Map<string, readonly RehearsedTurn[]>()
  const total: Total = { turns: 0, reused: 0, asked: 0, cost: 0, faults: [] }
  const queue = [...sessions]
  const worker = async () => {
    for (let session = queue.shift(); session; session = queue.shift()) {
      signal.throwIfAborted()
      changed.set(session.id, await rehearseSession(session, agent, total, deps, signal))
    }
  }
  await Promise.all(Array.from({ length: sessionsAtOnce }, worker))
  const inOrder = sessions.flatMap(({ id }) => changed.get(id) ?? [])
  return { sessions: sessions.length, ...total, faults: total.faults.slice(0, maxFaults), changed: inOrder }
}

/** What the guide remembers is carried from turn to turn, as the changed guide would have it. */
async function rehearseSession(
  session: SessionRecord,
  agent: ChangedAgent,
  total: Total,
  deps: RehearseDeps,
  signal: AbortSignal,
): Promise<RehearsedTurn[]> {
  const { store, catalogue } = deps
  const changed: RehearsedTurn[] = []
  let state: GuideState | undefined
  for (const run of await store.generations.turnsIn(session.id)) {
    const toolbox = await toolboxOf(run.settings.tool_ids, run.project_id, catalogue)
    const played = await rehearseTurn(run, { session, state, toolbox, signal }, agent, deps).catch((error: unknown) => {
      // A model that fails once must not cost all that was found out so far. The next turn starts as recorded.
      if (!(error instanceof PlatformError)) throw error
      total.faults.push(`${run.id}: ${error.message}`)
      state = undefined
    })
    if (!played) continue
    total.faults.push(...played.faults.map((fault) => `${run.id}: ${fault}`))
    state = played.state
    total.turns++
    total.reused += played.reused
    total.asked += played.asked
    total.cost += played.cost
    if (played.turn) changed.push(played.turn)
  }
  return changed
}
