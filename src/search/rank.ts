import { type Features, featureNames, featuresOf } from './features.ts'
import type { IndexedAction } from './indexed-action.ts'
import { highest, type Index, rarity } from './postings.ts'
import { type Query, read } from './query.ts'
import type { AppScope, Scope } from './scope.ts'
import { scaleOf } from './similarity.ts'
import type { Vector, Vectors } from './vectors.ts'
import { type Regime, weights } from './weights.ts'
import { kindredOf } from './words.ts'

/** An action that may match. */
export interface Candidate {
  readonly id: number
  /** Between 0 and 1. Below 0.5 is not a match. */
  readonly score: number
  /** The logarithm of the odds behind the score, which close to 1 does not distinguish candidates. */
  readonly logOdds: number
  readonly features: Features
}

/** The vector of a request, and the vectors of the actions. */
export interface QueryVector {
  readonly vector: Vector
  readonly vectors: Vectors
}

const byWords = 100
const byMeaning = 60
const ofApp = 200

/** If the app that a request names is missing, the best score is at most this. */
const mostWithoutApp = Math.log(0.1 / 0.9)

/** A sentence says less than the whole request, so its matches are less certain. */
const partBias = -1

/** In a larger scope, parts have the nearest actions of the whole request, because finding them again takes too long. */
const largeScope = 10_000

/** The candidates for a request, best first. */
export interface Ranking {
  readonly found: readonly Candidate[]
  /** The app that the request names, if no action in the scope belongs to it. */
  readonly missingApp: string | undefined
}

/**
 * Ranks the actions of a scope for a request in parts, the first of which is the whole request. Each action has the score of
 * the part that it fits best.
 */
export function rankParts(
  parts: readonly { readonly text: string; readonly meaning: QueryVector | undefined }[],
  index: Index,
  scope: Scope,
): Ranking {
  const best = new Map<number, Candidate>()
  let missingApp: string | undefined
  for (const [at, { text, meaning }] of parts.entries()) {
    const query = read(text, index, scope)
    if (at === 0) missingApp = query.missingApp
    const near = at > 0 && scope.ids.length > largeScope ? new Set(best.keys()) : undefined
    for (const one of score(query, index, scope, meaning, at === 0 ? 0 : partBias, near)) {
      if (one.logOdds > (best.get(one.id)?.logOdds ?? Number.NEGATIVE_INFINITY)) best.set(one.id, one)
    }
  }
  const found = [...best.values()].sort((a, b) => b.logOdds - a.logOdds || a.id - b.id)
  return { found: missingApp === undefined ? found : heldDown(found), missingApp }
}

/** Ranks the actions of a scope for a request as a whole. */
export const rank = (text: string, index: Index, scope: Scope, meaning: QueryVector | undefined) =>
  rankParts([{ text, meaning }], index, scope).found

/** Keeps the order, which shows what comes nearest. */
function heldDown(found: readonly Candidate[]): Candidate[] {
  const excess = Math.max(0, (found[0]?.logOdds ?? 0) - mostWithoutApp)
  return found.map((one) => ({ ...one, logOdds: one.logOdds - excess, score: logistic(one.logOdds - excess) }))
}

const logistic = (sum: number) => 1 / (1 + Math.exp(-sum))

function score(
  query: Query,
  index: Index,
  scope: Scope,
  meaning: QueryVector | undefined,
  more: number,
  near: ReadonlySet<number> | undefined,
): Candidate[] {
  const table = weights[regimeOf(query, meaning)]
  const counting = featureNames.filter((name) => table[name])
  return candidates(query, index, scope, meaning, near).map(({ id, features }) => {
    let sum = table.bias + more
    for (const name of counting) sum += (table[name] as number) * features[name]
    return { id, features, logOdds: sum, score: logistic(sum) }
  })
}

/** In a long request, words of an app's name occur by chance. In a short one they are intended. */
const longRequest = 12

export function regimeOf({ bestApp, words, isSentence }: Query, meaning: QueryVector | undefined): Regime {
  const isNamed = bestApp >= (words > longRequest ? 0.6 : 0.3)
  const kind = isNamed ? (isSentence ? 'sentence' : 'app') : 'plain'
  return `${kind}_${meaning ? 'meaning' : 'words'}`
}

/** The actions worth scoring, with their features. `near` replaces the search for the nearest vectors. */
export function candidates(
  query: Query,
  index: Index,
  scope: Scope,
  meaning: QueryVector | undefined,
  near?: ReadonlySet<number>,
): { id: number; features: Features }[] {
  const ids = new Set(highest(scope.ids, query.scores, byWords))
  if (near) for (const id of near) ids.add(id)
  else if (meaning) for (const id of meaning.vectors.nearest(meaning.vector, scope, byMeaning)) ids.add(id)
  for (const [place, named] of query.apps) {
    if (named <= 0.3 || named < 0.6 * query.bestApp) continue
    const own = Uint32Array.from(scope.apps[place]?.ids ?? [])
    for (const id of own.length > ofApp ? highest(own, query.scores, ofApp) : own) ids.add(id)
  }
  let bestScore = 0
  for (const id of ids) bestScore = Math.max(bestScore, query.scores[id] as number)
  const usualRarity = rarity(scope.ids.length / 100, scope.ids.length)
  const close = meaning && closeness(ids, meaning, scope)
  const strange = new Map<number, number>()
  return [...ids].map((id) => {
    const place = scope.appOf[id] as number
    if (!strange.has(place)) strange.set(place, strangeness(query, scope.apps[place] as AppScope))
    const features = featuresOf({
      query,
      action: index.actions[id] as IndexedAction,
      score: query.scores[id] as number,
      bestScore,
      app: query.apps.get(place) ?? 0,
      meaning: close?.get(id)?.whole ?? 0,
      shortMeaning: close?.get(id)?.short ?? 0,
      usualRarity,
      strange: strange.get(place) as number,
    })
    return { id, features }
  })
}

interface Closeness {
  readonly short: number
  readonly whole: number
}

/** An action without vectors yet gets the average similarity, so that it neither gains nor loses by that. */
function closeness(ids: ReadonlySet<number>, { vector, vectors }: QueryVector, scope: Scope): Map<number, Closeness> {
  const scaled = scaleOf(vector, vectors, scope)
  const known = new Map<number, Closeness>()
  const sum = { short: 0, whole: 0 }
  for (const id of ids) {
    if (!vectors.has(id)) continue
    const found = vectors.compare(vector, id)
    const close = { short: scaled(found.short), whole: scaled(found.whole) }
    known.set(id, close)
    sum.short += close.short
    sum.whole += close.whole
  }
  const usual = { short: sum.short / (known.size || 1), whole: sum.whole / (known.size || 1) }
  for (const id of ids) if (!known.has(id)) known.set(id, usual)
  return known
}

/** How much of the request's subject the app has no word for. Such requests are often about custom objects. */
function strangeness({ nouns, nounTotal, rarities }: Query, app: AppScope): number {
  let known = 0
  for (const noun of nouns) {
    const worth = rarities.get(noun) ?? 0
    if (app.nouns.has(noun)) known += worth
    else if (
      kindredOf(noun)
        ?.values()
        .some((other) => app.nouns.has(other))
    )
      known += 0.6 * worth
  }
  return nounTotal > 0 ? 1 - known / nounTotal : 0
}
