import { builtIns, type Guide, type GuideMatch, type Policy, type Routine, type StepGuide } from '../../model/guide.ts'
import type { RoutinePosition } from '../../model/session.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import type { Store } from '../../store/store.ts'
import { builtInName } from '../offered.ts'
import { toolIdOf } from '../sessions/turn-events.ts'
import type { Toolbox } from '../toolbox.ts'
import { transcript } from '../transcript.ts'
import type { StepContext } from '../turn.ts'
import { type Advancing, advance, obsoleteNodes } from './advance.ts'
import { missingTexts, orderText } from './arguments.ts'
import { emitSchema } from './built-ins.ts'
import { notCanned, repliesFor, repliesText } from './canned-replies.ts'
import { factsOf, type NamedCall } from './facts.ts'
import { applyingOf, guidanceOf } from './guidance.ts'
import type { GuideDeps } from './guide-deps.ts'
import { iterationsOf } from './limits.ts'
import { type Matching, matchRules, policyId, withPriorities } from './match.ts'
import { ModelQuestions } from './model-questions.ts'
import { afterCalls, routineOf, started, withPosition } from './positions.ts'
import { conversationOf, systemOf } from './prompts.ts'
import { variablesToFetch } from './variables.ts'

/** Decides what a step sees, and stores what the model was asked. */
export async function decide(
  context: StepContext,
  guide: Guide,
  session: SessionRecord,
  deps: GuideDeps,
): Promise<StepGuide> {
  const { run, number, signal } = context
  const questions = new ModelQuestions({ run, step: number, signal }, guide, deps)
  const { step, obsolete } = await decideStep(context, guide, session, { questions, store: deps.store })
  if (obsolete.length > 0) await deps.store.sessions.setStepOutput(session.id, '', undefined, obsolete)
  await deps.store.guides.addAnswers(questions.answers)
  if (questions.answers.length > 0) await deps.store.generations.addUsage(run, questions.usage)
  return step
}

/** The first step of a turn matches everything; later ones only what a tool has changed. Writes nothing. */
export async function decideStep(
  { run, number, journal, toolbox }: StepContext,
  guide: Guide,
  session: SessionRecord,
  { questions, store, known: recorded }: { questions: ModelQuestions; store: Store; known?: Matching['known'] },
): Promise<{ step: StepGuide; obsolete: string[] }> {
  const previous = journal.steps.findLast((step) => step.number < number)?.guide ?? null
  // A step that has fetched variables has decided nothing.
  const before = previous?.fetch ? null : previous
  const calls = journal.calls.map((call) => ({ call, toolId: toolIdOf(call, toolbox) }))
  const latest = before ? calls.filter(({ call }) => call.step === number - 1) : []
  if (before && latest.length === 0) return { step: rewriting(before, number, guide), obsolete: [] }
  const facts = await factsOf(session, guide, { run, calls, journal }, store)
  const known = { facts, toolbox, now: Date.now() }
  const { fetch, faults } = previous ? nothing : variablesToFetch(guide, session.state.variables ?? {}, known)
  if (fetch.length > 0) return { step: { ...fetching(fetch, session), faults }, obsolete: [] }
  questions.faults.push(...faults)
  const prefix = { system: systemOf(guide), conversation: conversationOf(transcript(run, journal)) }
  const advancing: Advancing = { guide, facts, questions, prefix, obsolete: [] }
  const isLast = number - (journal.steps[0]?.guide?.fetch ? 1 : 0) > iterationsOf(guide, session.run)

  const positions = afterCalls(before?.routines ?? session.state.routines, before ? latest : [], guide)
  const matching = { guide, facts, once: session.state.once, questions, prefix, ...(recorded && { known: recorded }) }
  const moving = movedOn(positions, advancing)
  const decided = before
    ? await reevaluated(before, latest, await moving, matching, isLast)
    : await both(moving, matchAll(guide.policies, positions, matching), guide)
  const settled = await movedOn(decided.positions, advancing)
  const active = activeIn(settled)
  const matches = withPriorities(decided.matches, active, guide)
  const step = {
    ...seen(guide, matches, settled, {
      ...{ isLast, isAutonomous: session.run !== null, toolbox, latest },
      replies: repliesFor(guide, facts),
    }),
    matches,
    routines: settled,
    questions: questions.answers.length,
    faults: [...new Set(questions.faults)],
  }
  return { step, obsolete: advancing.obsolete }
}

const nothing = { fetch: [], faults: [] }

/** A step that only fetches variables. */
const fetching = (fetch: NonNullable<StepGuide['fetch']>, { state }: SessionRecord): StepGuide => ({
  ...{ guidance: null, built_ins: [], must_call: null, last: false, matches: [], routines: [...state.routines] },
  ...{ reviewed: false, review: null, rewrites: null, questions: 0, faults: [] },
  actions: fetch.map(({ tool_id }) => tool_id),
  fetch,
})

/** At the start of a turn, routines move on while policies are matched. A policy of a routine that has ended is dropped. */
async function both(moving: Promise<RoutinePosition[]>, matching: Promise<Decided>, guide: Guide): Promise<Decided> {
  const [moved, { matches, positions }] = await Promise.all([moving, matching])
  const fresh = positions.filter(({ routine_id, done, visited }) => !done && visited.length === 1 && isNew(routine_id))
  function isNew(id: string): boolean {
    return matches.some((match) => match.applies && match.id === `routine:${id}`)
  }
  const all = fresh.reduce<readonly RoutinePosition[]>(withPosition, moved)
  const active = activeIn(all)
  const ended = guide.policies.filter(({ in_routine }) => in_routine !== null && !active.has(in_routine)).map(policyId)
  return { matches: matches.filter(({ id }) => !ended.includes(id)), positions: all }
}

type Decided = { readonly matches: GuideMatch[]; readonly positions: readonly RoutinePosition[] }
type Rules = Omit<Matching, 'active'>

const activeIn = (positions: readonly RoutinePosition[]): Set<string> =>
  new Set(positions.filter(({ status }) => status === 'active').map(({ routine_id }) => routine_id))

/** Autonomous routines start by a trigger, never by a conversation. */
const idle = ({ routines }: Guide, active: ReadonlySet<string>): Routine[] =>
  routines.filter(({ id, autonomous }) => !autonomous && !active.has(id))

const isForTurns = ({ applies_to }: Policy): boolean => applies_to === 'turn'

/** Matches these policies and all routines that are not active. Those that start bring their own policies. */
async function matchAll(
  policies: readonly Policy[],
  positions: readonly RoutinePosition[],
  rules: Rules,
): Promise<Decided> {
  const active = activeIn(positions)
  const { guide } = rules
  const wanted = policies.filter(isForTurns)
  const first = await matchRules(wanted, idle(guide, active), { ...rules, active })
  const starting = first.filter(({ id, applies }) => applies && id.startsWith('routine:'))
  let next = positions
  for (const { id, reason } of starting) {
    const routine = routineOf(guide, { routine_id: id.slice('routine:'.length) })
    if (routine) next = withPosition(next, started(routine, reason))
  }
  const isNew = new Set(starting.map(({ id }) => id.slice('routine:'.length)))
  const theirs = wanted.filter(({ in_routine }) => in_routine !== null && isNew.has(in_routine))
  const second = theirs.length > 0 ? await matchRules(theirs, [], { ...rules, active: activeIn(next) }) : []
  return { matches: [...first, ...second], positions: next }
}

/**
 * What matched binds for the rest of the turn. A tool that is marked for reevaluation, and that has succeeded, makes the
 * guide decide again: about everything that has not matched, or about the policies that name the tool. Expressions are
 * evaluated again both ways, because they say exactly when they hold.
 */
async function reevaluated(
  before: StepGuide,
  latest: readonly NamedCall[],
  positions: readonly RoutinePosition[],
  rules: Rules,
  isLast: boolean,
): Promise<Decided> {
  const { guide } = rules
  const done = new Set(
    latest.filter(({ call }) => call.output !== undefined && !call.is_error).map(({ toolId }) => toolId),
  )
  const isGlobal = !isLast && guide.reevaluation_tools.some((id) => done.has(id))
  const bound = before.matches.map((match) => (match.applies ? { ...match, by: boundBy(match) } : match))
  const isBound = (policy: Policy) =>
    policy.when === null && bound.some(({ id, applies }) => applies && id === policyId(policy))
  const scoped = isLast
    ? []
    : guide.policies.filter(({ reevaluate_after }) => reevaluate_after.some((id) => done.has(id)))
  const again = (isGlobal ? guide.policies : scoped).filter((policy) => isForTurns(policy) && !isBound(policy))
  if (!isGlobal && again.length === 0) return { matches: bound, positions }
  const decided = isGlobal
    ? await matchAll(again, positions, rules)
    : { matches: await matchRules(again, [], { ...rules, active: activeIn(positions) }), positions }
  const fresh = new Set([...decided.matches.map(({ id }) => id), ...again.map(policyId)])
  return { matches: [...bound.filter(({ id }) => !fresh.has(id)), ...decided.matches], positions: decided.positions }
}

const boundBy = ({ by }: GuideMatch): GuideMatch['by'] => (by === 'model' ? 'bound' : by)

/** Follows the transitions of all active routines. */
async function movedOn(positions: readonly RoutinePosition[], advancing: Advancing): Promise<RoutinePosition[]> {
  return Promise.all(
    positions.map(async (position) => {
      const next = await advance(position, advancing)
      if (next !== position) advancing.obsolete.push(...obsoleteNodes(position, next, advancing.guide))
      return next
    }),
  )
}

interface Seeing {
  readonly isLast: boolean
  readonly isAutonomous: boolean
  readonly toolbox: Toolbox
  /** The calls of the step before. */
  readonly latest: readonly NamedCall[]
  /** The canned replies that can be sent. */
  readonly replies: readonly string[]
}

/** The instructions and tools that follow from what applies. */
function seen(
  guide: Guide,
  matches: readonly GuideMatch[],
  positions: readonly RoutinePosition[],
  { isLast, isAutonomous, toolbox, latest, replies }: Seeing,
) {
  const applying = applyingOf(guide, matches, positions)
  const isEmpty = guide.policies.length + guide.routines.length === 0
  const thinking = applying.nodes.find(({ node }) => node.kind === 'think')
  const emitting = applying.nodes.find(({ node }) => node.tools.includes(builtIns.emitOutput))
  const [focus] = isLast ? [] : [thinking, emitting].filter((one) => one !== undefined)
  const routine = focus && routineOf(guide, focus.position)
  const schema = focus?.node.output_schema ?? (routine?.autonomous ? emitSchema(routine.autonomous.output_schema) : {})
  const [toolId = ''] = focus?.node.tools ?? []
  const tools = [
    ...applying.policies.flatMap((policy) => policy.tools),
    ...applying.nodes.flatMap(({ node }) => (node.kind === 'tool' ? node.tools : [])),
  ]
  return {
    guidance: guidanceOf(guide, focus ? { ...applying, nodes: [focus] } : applying, {
      last: isLast,
      missing: isAutonomous ? [] : missingTexts(latest, toolbox),
      orderOf: (ids) => orderText(ids, toolbox),
      replies: focus || isAutonomous ? [] : repliesText(replies, guide.reply_mode),
    }),
    actions: isEmpty ? null : focus ? [] : [...new Set(tools)].filter((id) => id !== builtIns.emitOutput),
    built_ins: focus && routine ? [{ tool_id: toolId, routine_id: routine.id, node_id: focus.node.id, schema }] : [],
    must_call: focus ? builtInName(toolId) : isAutonomous ? onlyTool(tools, toolbox) : null,
    last: isLast && !isEmpty,
    reviewed: guide.reply_mode === 'strict' || guide.policies.some(({ applies_to }) => applies_to === 'reply'),
    ...(guide.reply_mode === 'strict' && { replies: [...replies] }),
    review: null,
    rewrites: null,
  }
}

/** In an autonomous routine there is nobody to ask, so the tool has to be called. */
function onlyTool(tools: readonly string[], toolbox: Toolbox): string | null {
  const [only, another] = tools
  if (only === undefined || another !== undefined) return null
  return toolbox.active(null).find(({ prepared }) => prepared.action.id === only)?.name ?? null
}

/** The draft of the last step was not sent: the model writes another one. */
function rewriting(before: StepGuide, number: number, { policies }: Guide): StepGuide {
  const { replies } = before
  const violations = before.review?.violations ?? []
  const lines = violations.flatMap(({ id, reason }) => {
    if (id === notCanned) return repliesText(replies ?? [], 'strict')
    const rule = policies.find((policy) => policy.id === id)?.action ?? id
    return `- ${rule}${reason === null ? '' : ` (${reason})`}`
  })
  const guidance = `[guidance]\nYour draft was not sent, because it goes against these rules. Write the reply again so that it follows them, and do not mention this:\n${lines.join('\n')}`
  const { matches, routines } = before
  return {
    ...{ guidance, matches, routines, actions: [], built_ins: [], must_call: null, last: true, reviewed: true },
    ...{ review: null, rewrites: number - 1, questions: 0, faults: [] },
    ...(replies && { replies }),
  }
}
