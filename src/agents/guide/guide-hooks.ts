import type { Guide } from '../../model/guide.ts'
import type { GuideState } from '../../model/session.ts'
import type { Run } from '../../store/generations.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import type { GuideHooks } from '../sessions/turn-hooks.ts'
import { builtInInput, builtInTool, emittedIn } from './built-ins.ts'
import { decide } from './decide.ts'
import type { GuideDeps } from './guide-deps.ts'
import { review } from './review.ts'
import { stateAfterTurn } from './state-after.ts'

export interface TurnGuide extends GuideHooks {
  /** What the guide remembers after the turn; undefined if nothing has changed. */
  stateAfter(run: Run, session: SessionRecord): Promise<GuideState | undefined>
}

/** The policies and routines of an agent, as the loop asks them. */
export function createGuideHooks(deps: GuideDeps): TurnGuide {
  const { store } = deps
  const guideOf = async ({ settings }: Run): Promise<Guide | undefined> => {
    const id = settings.turn?.guide_id ?? null
    return id === null ? undefined : store.guides.find(id)
  }
  const found = async (run: Run) => {
    const guide = await guideOf(run)
    const session = guide && (await store.sessions.find(run.session_id as string))
    return guide && session && { guide, session }
  }

  return {
    async decide(context) {
      const known = await found(context.run)
      return known ? decide(context, known.guide, known.session, deps) : null
    },

    builtIn: (run, call, step) => ({ tool: builtInTool(run, call, step, deps), input: builtInInput(call) }),

    isSettledBy: (calls) => emittedIn(calls) !== undefined,

    async review(context) {
      const known = context.step.guide?.reviewed ? await found(context.run) : undefined
      if (!known) return { kind: 'send', text: context.step.text ?? '' }
      return review(context, known.guide, known.session, deps)
    },

    async stateAfter(run, { state }) {
      const guide = await guideOf(run)
      if (!guide) return undefined
      return stateAfterTurn(run, await store.journals.read(run.id), state, guide)
    },
  }
}
