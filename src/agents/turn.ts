import type { ToolEntry } from '../catalogue/catalogue.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Step } from '../model/generation.ts'
import type { StepGuide } from '../model/guide.ts'
import type { Message } from '../model/message.ts'
import type { Run } from '../store/generations.ts'
import type { Journal, JournalCall } from '../store/journal.ts'
import type { Toolbox } from './toolbox.ts'

/** What a decision of the guide is based on. */
export interface StepContext {
  readonly run: Run
  readonly number: number
  readonly journal: Journal
  readonly toolbox: Toolbox
  readonly signal: AbortSignal
}

/** Whether a reply can be sent. `rewrite` asks the model for another one. */
export type Verdict = { readonly kind: 'send'; readonly text: string } | { readonly kind: 'rewrite' }

/** What the loop asks about a run that is a turn of a session. */
export interface TurnHooks {
  /** The conversation that the turn sees: the events before its own. */
  history(run: Run): Promise<Message[]>
  /** What the next step sees. Null without a guide. */
  decide(context: StepContext): Promise<StepGuide | null>
  /**
   * Appends the text of a step that also has calls. False if a message has arrived meanwhile: while the text looked like the
   * reply, it could not cancel the turn.
   */
  said(run: Run, step: Step): Promise<boolean>
  /** Appends the results of a step's calls. */
  called(run: Run, calls: readonly JournalCall[], toolbox: Toolbox): Promise<void>
  /** A built-in tool, which has no record, and the input for a call of it. */
  builtIn(run: Run, call: JournalCall, guide: StepGuide): { readonly tool: ToolEntry; readonly input: JsonObject }
  /** Whether a call of the step has settled the run. */
  isSettledBy(calls: readonly JournalCall[]): boolean
  review(context: StepContext & { readonly step: Step }): Promise<Verdict>
  /** The reply begins. False if the turn was cancelled. */
  beginReply(run: Run, step: number): Promise<boolean>
}
