import type { Schemas } from '../../json-schema/schema.ts'
import type { GuideState } from '../../model/session.ts'
import type { Run } from '../../store/generations.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import type { Store } from '../../store/store.ts'
import type { Models } from '../models/model.ts'
import type { GuideHooks } from '../sessions/turn-hooks.ts'

export interface GuideDeps {
  readonly store: Store
  readonly schemas: Schemas
  readonly models: Models
}

export interface TurnGuide extends GuideHooks {
  stateAfter(run: Run, session: SessionRecord): Promise<GuideState | undefined>
  onTurnEnd(run: Run, session: SessionRecord): Promise<void>
}

export function createGuideHooks(_: GuideDeps): TurnGuide {
  return {
    decide: async () => null,
    executeBuiltIn: async () => ({ output: null, isError: true }),
    isSettledBy: () => false,
    review: async ({ step }) => ({ kind: 'send', text: step.text ?? '' }),
    stateAfter: async () => undefined,
    onTurnEnd: async () => {},
  }
}
