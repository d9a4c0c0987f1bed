import type { IndexedAction } from './indexed-action.ts'
import type { Query } from './query.ts'
import { kindredOf, type Relation, relationOf, relations } from './words.ts'

/** The features of a match. weights.ts has the weight of each. */
export const featureNames = [
  'lexical',
  'lexical_share',
  'meaning',
  'short_meaning',
  'app',
  'app_lead',
  'name_covered',
  'query_covered',
  'kindred_covered',
  'extra_words',
  'exact',
  'head_kindred',
  'in_order',
  'generic',
  'deprecated',
  'many_for_many',
  'one_for_many',
  'many_for_one',
  'same_verb',
  'crossing_verb',
  'deleting_verb',
  'no_verb',
  'strange_generic',
  'parameters',
  'phrase',
] as const
export type FeatureName = (typeof featureNames)[number]
export type Features = Record<FeatureName, number>

export interface FeatureInput {
  readonly query: Query
  readonly action: IndexedAction
  readonly score: number
  readonly bestScore: number
  /** How certain it is that the request names the action's app. */
  readonly app: number
  readonly meaning: number
  readonly shortMeaning: number
  /** The rarity of a typical term that is not in the request. */
  readonly usualRarity: number
  /** How much of the request the app has no word for. */
  readonly strange: number
}

export function featuresOf(seen: FeatureInput): Features {
  const { query, action, score, app } = seen
  const { rarities, terms, nouns, nounTotal, head, verb } = query
  let named = 0
  let all = 0
  let extra = 0
  for (const noun of action.nouns) {
    const worth = rarities.get(noun) ?? seen.usualRarity
    all += worth
    if (terms.has(noun)) named += worth
    else extra++
  }
  let covered = 0
  let kindred = 0
  for (const noun of nouns) {
    const worth = rarities.get(noun) ?? 0
    if (action.nouns.includes(noun)) covered += worth
    else if (holdsAny(action.nouns, kindredOf(noun))) kindred += worth * 0.6
  }
  const isExact = nouns.length > 0 && sameSet(nouns, action.titleNouns)
  const relation = verb && bestRelation(query, action)
  const { gives } = action
  const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0)
  return {
    lexical: share(score, seen.bestScore),
    lexical_share: share(score, query.total),
    meaning: seen.meaning,
    short_meaning: seen.shortMeaning,
    app,
    app_lead: share(app, query.bestApp),
    name_covered: share(named, all),
    query_covered: share(covered, nounTotal),
    kindred_covered: share(covered + kindred, nounTotal),
    extra_words: Math.log1p(extra),
    exact: Number(isExact),
    head_kindred: Number(head !== undefined && !action.nouns.includes(head) && holdsAny(action.nouns, query.kindred)),
    in_order: Math.min(2, inOrder(query.sequence, action.sequence)),
    generic: Number(action.isGeneric),
    deprecated: Number(action.isDeprecated),
    many_for_many: Number(query.wantsMany && gives === 'many'),
    one_for_many: Number(query.wantsMany && gives === 'one'),
    many_for_one: !query.wantsMany && gives === 'many' ? (query.wantsOne ? 2 : 1) : 0,
    same_verb: Number(relation === 'same'),
    crossing_verb: Number(relation === 'crossing'),
    deleting_verb: Number(relation === 'deleting'),
    no_verb: Number(verb !== undefined && action.verbs.length === 0),
    strange_generic: seen.strange * Number(action.isGeneric),
    parameters: Math.log1p(action.parameterCount),
    // Part of a name is often another action's: "get person" is not "get person picture".
    phrase: phraseShare(query.spelled, query.restCount, action.phrases) ** 3,
  }
}

const holdsAny = (nouns: readonly string[], others: ReadonlySet<string> | undefined): boolean => {
  for (const other of others ?? []) if (nouns.includes(other)) return true
  return false
}

const sameSet = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((one) => others.includes(one))

function bestRelation({ verb }: Query, { verbs }: IndexedAction): Relation | undefined {
  const found = verb ? verbs.map((done) => relationOf(verb, done)) : []
  return relations.find((relation) => found.includes(relation))
}

/** How many adjacent pairs of one list are adjacent in the other. */
function inOrder(some: readonly string[], others: readonly string[]): number {
  let count = 0
  for (let at = 1; at < others.length; at++) {
    for (let from = 1; from < Math.min(some.length, 60); from++) {
      if (some[from] === others[at] && some[from - 1] === others[at - 1]) count++
    }
  }
  return count
}

/** How much of the request is the name of the action, word for word. */
function phraseShare(spelled: string, count: number, phrases: IndexedAction['phrases']): number {
  let most = 0
  for (const phrase of phrases) {
    if (phrase.words > most * count && spelled.includes(phrase.spelled)) most = Math.min(1, phrase.words / count)
  }
  return most
}
