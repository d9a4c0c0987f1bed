import { isDeepStrictEqual } from 'node:util'
import { canonical } from '../../lib/canonical.ts'
import { isObject, type Json } from '../../lib/json.ts'
import type { Step } from '../../model/generation.ts'
import type { Guide, GuideMatch, StepGuide } from '../../model/guide.ts'
import { textOf } from '../../model/message.ts'
import type { GuideState } from '../../model/session.ts'
import type { Run } from '../../store/generations.ts'
import type { Journal, JournalCall } from '../../store/journal.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import { modelOf } from '../model-of.ts'
import type { ModelAnswer } from '../models/model.ts'
import { historyKinds, messagesOf } from '../sessions/history.ts'
import { toolIdOf } from '../sessions/turn-events.ts'
import { requestFor } from '../step-request.ts'
import type { Toolbox } from '../toolbox.ts'
import { decideStep } from './decide.ts'
import { type Difference, Differences } from './differences.ts'
import type { GuideDeps } from './guide-deps.ts'
import { policyId, routineId } from './match.ts'
import { ModelQuestions } from './model-questions.ts'
import { policyRule, type Rule, routineRule } from './prompts.ts'
import { violationsIn } from './review.ts'
import { stateAfterTurn } from './state-after.ts'

/** The agent as a changed manifest describes it. */
export interface ChangedAgent {
  readonly guide: Guide
  readonly instructions: string
}

/** What would have been different in a turn. */
export interface RehearsedTurn {
  readonly session_id: string
  readonly generation_id: string
  readonly message: string
  readonly applies: Difference
  readonly nodes: Difference
  readonly tools: Difference
  readonly calls: Difference
  readonly violations: Difference
  readonly reply: { readonly before: string; readonly after: string } | null
}

interface Playing {
  readonly session: SessionRecord
  /** What the guide remembers from the turn before; undefined for the first one, which starts as recorded. */
  readonly state: GuideState | undefined
  readonly toolbox: Toolbox
  readonly signal: AbortSignal
}

/**
 * Decides again about each step of a turn. A step whose prompt is unchanged has the recorded answer. Otherwise the model is
 * asked; as long as it makes the recorded calls, their recorded results are used. From the first other call on, nobody
 * knows what its result would have been, so the rest of the turn is not played.
 */
export async function rehearseTurn(
  recorded: Run,
  { session, state, toolbox, signal }: Playing,
  { guide: changed, instructions }: ChangedAgent,
  deps: GuideDeps,
) {
  const { store } = deps
  const { turn } = recorded.settings
  const whole = await store.journals.read(recorded.id)
  if (!turn || !whole.steps.some(({ guide }) => guide)) return undefined
  const filter = { min_offset: 0, before: turn.before, kinds: historyKinds, limit: 5000 }
  const input = messagesOf(await store.sessions.events(session.id, filter))
  const run: Run = { ...recorded, input, settings: { ...recorded.settings, instructions } }
  const answers = new Map((await store.guides.answersOf(run.id)).map(({ hash, answer }) => [hash, answer]))
  const rules = rulesOf(turn.guide_id === null ? undefined : await store.guides.find(turn.guide_id))
  // Variables are not fetched again.
  const guide: Guide = { ...changed, variables: [] }
  const before = { ...session, state: state ?? turn.state }
  const questions = new ModelQuestions({ run, step: 1, signal, recorded: answers }, guide, deps)
  const differences = new Differences()
  const generated = { reused: 0, asked: 0, cost: 0 }
  let reply: RehearsedTurn['reply'] = null
  let journal: Journal = { steps: [], calls: [] }

  for (const step of whole.steps) {
    const own = whole.calls.filter((call) => call.step === step.number)
    // A draft that was rewritten ends what can be compared.
    if (!step.guide || step.answered_at === null || step.guide.rewrites !== null) break
    if (step.guide.fetch) {
      journal = { steps: [...journal.steps, step], calls: [...journal.calls, ...own] }
      continue
    }
    const context = { run, number: step.number, journal, toolbox, signal }
    const known = verdictsOf(step.guide, rules)
    const { step: decided } = await decideStep(context, guide, before, { questions, store, known })
    differences.compare('applies', applying(step.guide), applying(decided))
    differences.compare('nodes', nodes(step.guide), nodes(decided))
    differences.compare('tools', step.guide.actions ?? [], decided.actions ?? [])
    const next: Step = { ...step, guide: decided }
    const isSame = isSamePrompt(step.guide, decided) && instructions === recorded.settings.instructions
    const answer = isSame ? undefined : await ask(context, decided, deps, generated)
    if (isSame) generated.reused++
    const made = callsIn(own, toolbox)
    const wouldMake = answer ? callsOf(answer, decided, toolbox) : made
    journal = { steps: [...journal.steps, next], calls: journal.calls }
    if (differences.compare('calls', made, wouldMake)) break
    journal = { ...journal, calls: [...journal.calls, ...own] }
    if (own.length > 0) continue
    const text = answer?.text ?? step.text ?? ''
    if (answer && text !== step.text) reply = { before: shown(step.text ?? ''), after: shown(text) }
    const draft = { ...next, text }
    const { violations } = await violationsIn({ ...context, step: draft }, guide, before, { questions, store })
    const found = (one: StepGuide['review']) => (one?.violations ?? []).map(({ id }) => `policy:${id}`)
    differences.compare('violations', found(step.guide.review), found({ violations }))
    break
  }
  const isChanged = differences.any || reply !== null
  const said = input.findLast(({ role }) => role === 'user')
  const message = said?.role === 'user' ? shown(textOf(said.content)) : ''
  const ids = { session_id: session.id, generation_id: run.id, message }
  return {
    reused: questions.reused + generated.reused,
    asked: questions.answers.length + generated.asked,
    cost: generated.cost + questions.usage.cost,
    faults: [...new Set(questions.faults)],
    state: stateAfterTurn(recorded, journal, before.state, guide) ?? before.state,
    turn: isChanged ? { ...ids, ...differences.all, reply } : undefined,
  }
}

/** The rules that the model was asked about, as text by id. */
const rulesOf = (guide: Guide | undefined): ReadonlyMap<string, string> =>
  new Map([
    ...(guide?.policies ?? []).map((policy) => [policyId(policy), JSON.stringify(policyRule(policy))] as const),
    ...(guide?.routines ?? []).map((routine) => [routineId(routine), JSON.stringify(routineRule(routine))] as const),
  ])

/** What the model said about a rule in this step, if the rule is still the same. */
const verdictsOf =
  ({ matches }: StepGuide, rules: ReadonlyMap<string, string>) =>
  (rule: Rule): GuideMatch | undefined => {
    const id = rule.id.startsWith('routine:') ? rule.id : `policy:${rule.id}`
    const match = matches.find((one) => one.id === id && (one.by === 'model' || one.by === 'bound'))
    return match && rules.get(id) === JSON.stringify(rule) ? match : undefined
  }

const shown = (text: string) => text.slice(0, 200).toWellFormed()

/** Whether the model would be asked the same, given that the conversation is the same. */
const isSamePrompt = (one: StepGuide, other: StepGuide): boolean => isDeepStrictEqual(asked(one), asked(other))

const asked = ({ guidance, actions, built_ins, must_call, last }: StepGuide) => ({
  ...{ guidance, built_ins, must_call, last },
  actions: actions && [...actions].sort(),
})

async function ask(
  { run, number, journal, toolbox, signal }: Parameters<typeof decideStep>[0],
  guide: StepGuide,
  { store, models }: GuideDeps,
  generated: { asked: number; cost: number },
): Promise<ModelAnswer> {
  const model = await modelOf(run, store, models)
  const answer = await model.generate({ ...requestFor(run, number, journal, { toolbox, guide }), signal })
  generated.asked++
  generated.cost += model.costOf(answer) ?? 0
  return answer
}

const callsIn = (calls: readonly JournalCall[], toolbox: Toolbox): string[] =>
  calls.map((call) => callText(toolIdOf(call, toolbox), call.args))

const callsOf = ({ tool_calls }: ModelAnswer, { built_ins }: StepGuide, toolbox: Toolbox): string[] =>
  tool_calls.map(({ name, args }) => {
    const builtIn = built_ins.find(({ tool_id }) => tool_id.replace(':', '_') === name)
    return callText(builtIn?.tool_id ?? toolbox.find(name)?.prepared.action.id ?? name, args)
  })

function callText(toolId: string, args: string): string {
  try {
    const value: unknown = JSON.parse(args.trim() === '' ? '{}' : args)
    return `${toolId} ${isObject(value) ? canonical(value as Json) : args}`
  } catch {
    return `${toolId} ${args}`
  }
}

const applying = ({ matches }: StepGuide): string[] => matches.filter(({ applies }) => applies).map(({ id }) => id)

const nodes = ({ routines }: StepGuide): string[] =>
  routines.filter(({ status }) => status === 'active').map(({ routine_id, node_id }) => `${routine_id}/${node_id}`)
