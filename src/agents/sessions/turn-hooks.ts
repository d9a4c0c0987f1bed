import type { Run } from '../../store/generations.ts'
import type { Store } from '../../store/store.ts'
import type { TurnHooks } from '../turn.ts'
import { historyKinds, messagesOf } from './history.ts'
import { messageEvent, statusEvent, toolEvent } from './turn-events.ts'

/** The part of the hooks that decides. */
export type GuideHooks = Pick<TurnHooks, 'decide' | 'builtIn' | 'isSettledBy' | 'review'>

/** More events than any prompt can hold. */
const maxEvents = 5000

/** Connects the loop to the session whose turn it advances. Events have keys, so that another attempt adds none twice. */
export function createTurnHooks(store: Store, guide: GuideHooks): TurnHooks {
  const { sessions, generations } = store
  return {
    decide: (context) => guide.decide(context),
    builtIn: (run, call, step) => guide.builtIn(run, call, step),
    isSettledBy: (calls) => guide.isSettledBy(calls),
    review: (context) => guide.review(context),

    async history({ session_id, settings }) {
      const { before = 0 } = settings.turn ?? {}
      const wanted = { min_offset: Math.max(0, before - maxEvents), before, limit: maxEvents }
      return messagesOf(await sessions.events(session_id as string, { ...wanted, kinds: historyKinds }))
    },

    async said(run, { number, text, guide: decided }) {
      const id = run.session_id as string
      if (text && !decided?.reviewed) await sessions.append(id, [messageEvent(run, number, text)])
      return (await sessions.find(id))?.wanted == null
    },

    async called(run, calls, toolbox) {
      const ended = calls.filter(({ output }) => output !== undefined)
      if (ended.length === 0) return
      await sessions.append(
        run.session_id as string,
        ended.map((call) => toolEvent(run, call, toolbox)),
      )
    },

    async beginReply(run: Run, step: number) {
      if (!(await generations.beginReply(run))) return false
      await sessions.append(run.session_id as string, [statusEvent(run, 'typing', `/${step}`)])
      return true
    },
  }
}
