import type { Guide } from '../../model/guide.ts'
import type { GuideState } from '../../model/session.ts'
import type { Run } from '../../store/generations.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import type { GuideHooks } from '../sessions/turn-hooks.ts'
import { builtInInput, builtInTool, emittedIn } from './built-ins.ts'
import { decide, stateOf } from './decide.ts'
import type { GuideDeps } from './guide-deps.ts'
import { afterCalls, afterReply } from './positions.ts'
import { review } from './review.ts'
import { fetchedIn } from './variables.ts'

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
      const journal = await store.journals.read(run.id)
      const { steps, calls } = journal
      const last = steps.findLast((step) => step.guide !== null)
      if (!last?.guide) return undefined
      // A turn that was cancelled before it did anything leaves no trace.
      if (run.status !== 'completed' && calls.length === 0) return undefined
      const own = calls
        .filter((call) => call.step === last.number)
        .map((call) => ({ call, toolId: idOf(call.tool_id, call.action, call.tool_name, last.guide?.actions ?? []) }))
      const positions = last.guide.fetch ? last.guide.routines : afterCalls(last.guide.routines, own, guide)
      const hasReplied = run.status === 'completed' && (run.content ?? '') !== ''
      return stateOf(last.guide, state, guide, {
        positions: hasReplied ? afterReply(positions, guide, last.guide.matches) : positions,
        fetched: fetchedIn(journal),
        hasReplied,
      })
    },
  }
}

/** The canonical id of a tool that was called, without its catalogue: among the actions that the step offered. */
const idOf = (toolId: string | null, action: string | null, name: string, offered: readonly string[]): string =>
  toolId === null
    ? (action ?? name)
    : (offered.find(
        (id) => id.slice(id.indexOf(':') + 1) === action && name.startsWith(id.slice(0, id.indexOf(':'))),
      ) ?? name)
