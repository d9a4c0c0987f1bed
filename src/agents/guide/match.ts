import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Guide, GuideMatch, Policy, Routine } from '../../model/guide.ts'
import type { GuideState } from '../../model/session.ts'
import type { ModelQuestions } from './model-questions.ts'
import { matchQuestion, policyRule, type Rule, routineRule } from './prompts.ts'
import { evaluateWhen, type WhenFacts } from './when.ts'

/** How many rules of low criticality are in one question: it is answered with ids only. */
const lowBatch = 20

export interface Matching {
  readonly guide: Guide
  readonly facts: WhenFacts
  readonly once: GuideState['once']
  /** The ids of the active routines. */
  readonly active: ReadonlySet<string>
  readonly questions: ModelQuestions
  /** What the model has said about a rule before, about the same conversation. Such a rule is not asked about again. */
  known?(rule: Rule): GuideMatch | undefined
  readonly prefix: { readonly system: string; readonly conversation: string }
}

export const policyId = ({ id }: Pick<Policy, 'id'>): string => `policy:${id}`
export const routineId = ({ id }: Pick<Routine, 'id'>): string => `routine:${id}`

/**
 * Decides which of these policies and routines apply. What can be decided without a model is; the rest is asked in batches, all
 * at once. Rules that cannot apply now, because of their routine or because they are done, have no match at all.
 */
export async function matchRules(
  policies: readonly Policy[],
  routines: readonly Routine[],
  matching: Matching,
): Promise<GuideMatch[]> {
  const asked: { rule: Rule; match: string }[] = []
  const decided = new Map<string, GuideMatch>()
  const consider = (
    match: string,
    { when, condition }: { when: string | null; condition: string | null },
    rule: () => Rule,
  ) => {
    if (when !== null) {
      const { holds, fault } = evaluateWhen(when, matching.facts)
      if (fault !== undefined) matching.questions.faults.push(`${match}: ${fault}`)
      if (!holds) decided.set(match, { id: match, applies: false, by: 'when', reason: fault ?? `${when} is false` })
      else if (condition === null) decided.set(match, { id: match, applies: true, by: 'when', reason: when })
      if (!holds || condition === null) return
    }
    if (condition === null) decided.set(match, { id: match, applies: true, by: 'always', reason: null })
    else {
      const known = matching.known?.(rule())
      if (known) matching.questions.reused++
      if (known) decided.set(match, { ...known, id: match, by: 'model' })
      else asked.push({ rule: rule(), match })
    }
  }
  for (const policy of policies) {
    if (isPossible(policy, matching)) consider(policyId(policy), policy, () => policyRule(policy))
  }
  for (const routine of routines) {
    const condition = routine.conditions.length > 0 ? routine.conditions.join('; or ') : null
    // Without a condition it would always start.
    if (condition !== null || routine.when !== null) {
      consider(routineId(routine), { when: routine.when, condition }, () => routineRule(routine))
    }
  }
  const answers = await askAll(
    asked.map(({ rule }) => rule),
    matching,
  )
  for (const { rule, match } of asked) decided.set(match, { ...answers.get(rule.id), id: match } as GuideMatch)
  return [...decided.values()]
}

function isPossible({ id, in_routine, repeat }: Policy, { active, once }: Matching): boolean {
  if (in_routine !== null && !active.has(in_routine)) return false
  return repeat === 'always' || !once.includes(id)
}

async function askAll(rules: readonly Rule[], matching: Matching): Promise<Map<string, Omit<GuideMatch, 'id'>>> {
  const { guide } = matching
  const batches = [
    ...inBatches(
      rules.filter(({ isLow }) => !isLow),
      guide.policy_batch_size,
    ).map((batch) => ask(batch, false, matching)),
    ...inBatches(
      rules.filter(({ isLow }) => isLow),
      lowBatch,
    ).map((batch) => ask(batch, true, matching)),
  ]
  return new Map((await Promise.all(batches)).flatMap((answers) => [...answers]))
}

const inBatches = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

async function ask(
  rules: readonly Rule[],
  isLow: boolean,
  { questions, prefix }: Matching,
): Promise<Map<string, Omit<GuideMatch, 'id'>>> {
  const answer = await questions.ask({
    kind: isLow ? 'matchLow' : 'match',
    system: prefix.system,
    user: `${prefix.conversation}\n\n${matchQuestion(rules, isLow)}`,
    about: JSON.stringify(rules),
    read: isLow ? readIds : readChecks,
  })
  return new Map(
    rules.map(({ id }): [string, Omit<GuideMatch, 'id'>] => {
      if (!answer) return [id, { applies: false, by: 'fault', reason: 'the model gave no usable answer' }]
      const found = answer.get(id)
      return [id, { applies: found?.applies === true, by: 'model', reason: found?.reason ?? null }]
    }),
  )
}

type Checks = Map<string, { readonly applies: boolean; readonly reason: string | null }>

/** Ids that were not asked about are ignored later. */
function readChecks({ checks }: JsonObject): Checks | string {
  if (!Array.isArray(checks)) return '"checks" is not a list'
  const read: Checks = new Map()
  for (const check of checks) {
    if (!isObject(check) || typeof check.id !== 'string' || typeof check.applies !== 'boolean') {
      return 'an entry of "checks" has no "id" or no "applies" that is true or false'
    }
    read.set(check.id, { applies: check.applies, reason: typeof check.reason === 'string' ? check.reason : null })
  }
  return read
}

function readIds({ matches }: JsonObject): Checks | string {
  if (!Array.isArray(matches) || !matches.every((id) => typeof id === 'string')) return '"matches" is not a list of ids'
  return new Map(matches.map((id) => [id as string, { applies: true, reason: null }]))
}

/** Lets higher rules silence lower ones. A routine counts as applying while it is active. */
export function withPriorities(
  matches: readonly GuideMatch[],
  active: ReadonlySet<string>,
  guide: Guide,
): GuideMatch[] {
  const applies = (id: string) =>
    matches.some((match) => match.id === id && match.applies) || active.has(id.replace(/^routine:/, ''))
  const silenced = new Map<string, string>()
  for (const { higher, over, over_all_routines } of guide.priorities) {
    if (!applies(higher)) continue
    const lower = over_all_routines ? guide.routines.map(routineId) : over
    for (const id of lower) if (id !== higher) silenced.set(id, higher)
  }
  const known = new Set(matches.map(({ id }) => id))
  const routines = [...silenced.keys()].filter((id) => id.startsWith('routine:') && !known.has(id))
  const reasonOf = (id: string) => `${silenced.get(id)} takes precedence`
  return [
    ...matches.map((match) =>
      match.applies && silenced.has(match.id)
        ? { ...match, applies: false, by: 'priority' as const, reason: reasonOf(match.id) }
        : match,
    ),
    ...routines.map((id) => ({ id, applies: false, by: 'priority' as const, reason: reasonOf(id) })),
  ]
}
