import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Step } from '../../model/generation.ts'
import type { Guide, StepGuide } from '../../model/guide.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import type { Store } from '../../store/store.ts'
import { toolIdOf } from '../sessions/turn-events.ts'
import { transcript } from '../transcript.ts'
import type { StepContext, Verdict } from '../turn.ts'
import { cannedReply, notCanned } from './canned-replies.ts'
import { factsOf } from './facts.ts'
import type { GuideDeps } from './guide-deps.ts'
import { ModelQuestions } from './model-questions.ts'
import { conversationOf, reviewQuestion, systemOf } from './prompts.ts'
import { evaluateWhen } from './when.ts'

type Violations = { readonly id: string; readonly reason: string | null }[]

type Drafted = StepContext & { readonly step: Step }

/**
 * Checks a reply against the policies for replies. One that goes against them is rewritten once. If the second one does so as
 * well, a fixed text is sent instead. A check that fails lets the reply pass, unless a policy of high criticality is at stake.
 */
export async function review(
  context: Drafted,
  guide: Guide,
  session: SessionRecord,
  deps: GuideDeps,
): Promise<Verdict> {
  const { run, number, signal, step } = context
  const { store } = deps
  const text = step.text ?? ''
  const decision = step.guide
  if (!decision || text === '') return { kind: 'send', text }
  if (decision.replies) return strict(text, { run, number }, decision, guide, deps)
  const questions = new ModelQuestions({ run, step: number, signal }, guide, deps)
  const { violations, isChecked } = await violationsIn(context, guide, session, { questions, store })
  const noted: StepGuide = { ...decision, review: { violations }, faults: [...decision.faults, ...questions.faults] }
  await store.guides.addAnswers(questions.answers)
  if (questions.answers.length > 0) await store.generations.addUsage(run, questions.usage)
  await store.journals.noteGuide(run, number, noted)
  if (violations.length === 0) return { kind: 'send', text }
  return decision.rewrites === null && isChecked ? { kind: 'rewrite' } : { kind: 'send', text: guide.safe_reply }
}

/** What a draft goes against. `isChecked` is false if the model gave no usable answer. Writes nothing. */
export async function violationsIn(
  { run, number, journal, toolbox, step: { text, guide: decision } }: Drafted,
  guide: Guide,
  session: SessionRecord,
  { questions, store }: { questions: ModelQuestions; store: Store },
): Promise<{ readonly violations: Violations; readonly isChecked: boolean }> {
  const calls = journal.calls.map((call) => ({ call, toolId: toolIdOf(call, toolbox) }))
  const facts = await factsOf(session, guide, { run, calls, journal }, store)
  const active = new Set(decision?.routines.filter(({ status }) => status === 'active').map((one) => one.routine_id))
  const policies = guide.policies.filter(
    ({ applies_to, when, in_routine }) =>
      applies_to === 'reply' &&
      (when === null || evaluateWhen(when, facts).holds) &&
      (in_routine === null || active.has(in_routine)),
  )
  if (policies.length === 0 || !text) return { violations: [], isChecked: true }
  // A draft that was not sent is not part of the conversation.
  const isSent = (one: Step) => one.number < number && one.number !== decision?.rewrites
  const earlier = { ...journal, steps: journal.steps.filter(isSent) }
  const found = await questions.ask<Violations>({
    kind: 'review',
    system: systemOf(guide),
    user: `${conversationOf(transcript(run, earlier))}\n\n${reviewQuestion(policies, text)}`,
    about: '',
    read: (answer) => readViolations(answer),
  })
  const known = found?.filter(({ id }) => policies.some((policy) => policy.id === id))
  const isAtRisk = policies.some(({ criticality }) => criticality === 'high')
  const violations = known ?? (isAtRisk ? [{ id: 'check', reason: 'the reply could not be checked' }] : [])
  return { violations, isChecked: known !== undefined }
}

/** The reply must be one of the texts. No model has to be asked whether it is. */
async function strict(
  draft: string,
  { run, number }: Pick<StepContext, 'run' | 'number'>,
  decision: StepGuide,
  { safe_reply }: Guide,
  { store }: GuideDeps,
): Promise<Verdict> {
  const { replies = [], rewrites } = decision
  const text = cannedReply(draft, replies)
  if (text !== undefined) return { kind: 'send', text }
  const violations = [{ id: notCanned, reason: 'it is not one of the canned replies' }]
  await store.journals.noteGuide(run, number, { ...decision, review: { violations } })
  return rewrites === null && replies.length > 0 ? { kind: 'rewrite' } : { kind: 'send', text: safe_reply }
}

function readViolations({ violations }: JsonObject): Violations | string {
  if (!Array.isArray(violations)) return '"violations" is not a list'
  const read: Violations = []
  for (const one of violations) {
    if (!isObject(one) || typeof one.id !== 'string') return 'an entry of "violations" has no "id"'
    read.push({ id: one.id, reason: typeof one.reason === 'string' ? one.reason : null })
  }
  return read
}
