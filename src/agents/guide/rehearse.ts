import type { Guide, StepGuide } from '../../model/guide.ts'
import { textOf } from '../../model/message.ts'
import type { Run } from '../../store/generations.ts'
import { historyKinds, messagesOf } from '../sessions/history.ts'
import { Toolbox } from '../toolbox.ts'
import { Asker } from './asker.ts'
import { decideStep } from './decide.ts'
import type { GuideDeps } from './guide-deps.ts'

/** How a turn would begin under another guide. */
export interface RehearsedTurn {
  readonly session_id: string
  readonly generation_id: string
  readonly message: string
  readonly applies: Difference
  readonly nodes: Difference
  readonly tools: Difference
}

export interface Difference {
  readonly added: string[]
  readonly removed: string[]
}

export interface Rehearsal {
  readonly turns: number
  readonly changed: readonly RehearsedTurn[]
  readonly reused: number
  readonly asked: number
  readonly cost: number
}

const noTools = new Toolbox(new Map(), [])

/**
 * Decides again about the first step of recorded turns, under another guide. A question that was asked in the turn, about
 * the same rules and the same conversation, is not asked again. Nothing is written, and no tool is called.
 */
export async function rehearse(
  turns: readonly Run[],
  guide: Guide,
  deps: GuideDeps,
  signal: AbortSignal,
): Promise<Rehearsal> {
  const changed: RehearsedTurn[] = []
  let [count, reused, asked, cost] = [0, 0, 0, 0]
  for (const run of turns) {
    const rehearsed = await rehearseTurn(run, guide, deps, signal)
    if (!rehearsed) continue
    count++
    reused += rehearsed.asker.reused
    asked += rehearsed.asker.answers.length
    cost += rehearsed.asker.answers.reduce((sum, answer) => sum + (answer.cost ?? 0), 0)
    if (rehearsed.turn) changed.push(rehearsed.turn)
  }
  return { turns: count, changed, reused, asked, cost }
}

async function rehearseTurn(run: Run, guide: Guide, deps: GuideDeps, signal: AbortSignal) {
  const { store } = deps
  const { turn } = run.settings
  const session = run.session_id === null ? undefined : await store.sessions.find(run.session_id)
  const { steps } = await store.journals.read(run.id)
  const before = steps[0]?.guide
  if (!turn || !session || !before) return undefined
  const filter = { min_offset: 0, before: turn.before, kinds: historyKinds, limit: 5000 }
  const input = messagesOf(await store.sessions.events(session.id, filter))
  const recorded = new Map((await store.guides.answersOf(run.id)).map(({ hash, answer }) => [hash, answer]))
  const asker = new Asker({ run, step: 1, signal, recorded }, guide, deps)
  const context = { run: { ...run, input }, number: 1, journal: { steps: [], calls: [] }, toolbox: noTools, signal }
  const { step } = await decideStep(context, guide, { ...session, state: turn.state }, { asker, store })
  const difference = {
    applies: differenceOf(applying(before), applying(step)),
    nodes: differenceOf(nodes(before), nodes(step)),
    tools: differenceOf(before.actions ?? [], step.actions ?? []),
  }
  const isSame = Object.values(difference).every(({ added, removed }) => added.length + removed.length === 0)
  const said = input.findLast(({ role }) => role === 'user')
  const message = said?.role === 'user' ? textOf(said.content).slice(0, 200) : ''
  return {
    asker,
    turn: isSame ? undefined : { session_id: session.id, generation_id: run.id, message, ...difference },
  }
}

const applying = ({ matches }: StepGuide): string[] => matches.filter(({ applies }) => applies).map(({ id }) => id)

const nodes = ({ routines }: StepGuide): string[] =>
  routines.filter(({ status }) => status === 'active').map(({ routine_id, node_id }) => `${routine_id}/${node_id}`)

const differenceOf = (before: readonly string[], after: readonly string[]): Difference => ({
  added: after.filter((id) => !before.includes(id)),
  removed: before.filter((id) => !after.includes(id)),
})
