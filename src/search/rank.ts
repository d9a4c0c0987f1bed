import { type Features, featureNames, featuresOf } from './features.ts'
import { highest, type Index, rarity } from './postings.ts'
import type { Profile } from './profile.ts'
import { type Question, read } from './question.ts'
import type { Vector, Vectors } from './vectors.ts'
import type { AppView, View } from './view.ts'
import { type Regime, weights } from './weights.ts'
import { kindredOf } from './words.ts'

/** An action that may be the one that is meant. */
export interface Candidate {
  readonly id: number
  /** Between 0 and 1; what is below one half is not taken for a match. */
  readonly score: number
  readonly features: Features
}

/** The meaning of a request beside those of the actions, once there are any. */
export interface Meaning {
  readonly vector: Vector
  readonly vectors: Vectors
}

const byWords = 100
const byMeaning = 60
const ofApp = 200

/** The actions of a view that fit a request, best first. */
export function rank(text: string, index: Index, view: View, meaning: Meaning | undefined): Candidate[] {
  const question = read(text, index, view)
  const table = weights[regimeOf(question, meaning)]
  const counting = featureNames.filter((name) => table[name])
  return candidates(question, index, view, meaning)
    .map(({ id, features }) => {
      let sum = table.bias
      for (const name of counting) sum += (table[name] as number) * features[name]
      return { id, features, score: 1 / (1 + Math.exp(-sum)) }
    })
    .sort((a, b) => b.score - a.score || a.id - b.id)
}

/** In a long request words of an app's name turn up by chance; in a short one they are meant. */
const longRequest = 12

export function regimeOf({ bestApp, words }: Question, meaning: Meaning | undefined): Regime {
  const isNamed = bestApp >= (words > longRequest ? 0.6 : 0.3)
  return `${isNamed ? 'app' : 'plain'}_${meaning ? 'meaning' : 'words'}`
}

/** Those that are worth a closer look, with all that speaks for and against them. */
export function candidates(
  question: Question,
  index: Index,
  view: View,
  meaning: Meaning | undefined,
): { id: number; features: Features }[] {
  const ids = new Set(highest(view.ids, question.scores, byWords))
  if (meaning) for (const id of meaning.vectors.nearest(meaning.vector, view, byMeaning)) ids.add(id)
  for (const [place, named] of question.apps) {
    if (named <= 0.3 || named < 0.6 * question.bestApp) continue
    const own = Uint32Array.from(view.apps[place]?.ids ?? [])
    for (const id of own.length > ofApp ? highest(own, question.scores, ofApp) : own) ids.add(id)
  }
  let bestScore = 0
  for (const id of ids) bestScore = Math.max(bestScore, question.scores[id] as number)
  const usualRarity = rarity(view.ids.length / 100, view.ids.length)
  const close = meaning && closeness(ids, meaning)
  const strange = new Map<number, number>()
  return [...ids].map((id) => {
    const place = view.appOf[id] as number
    if (!strange.has(place)) strange.set(place, strangeness(question, view.apps[place] as AppView))
    const features = featuresOf({
      question,
      profile: index.profiles[id] as Profile,
      score: question.scores[id] as number,
      bestScore,
      app: question.apps.get(place) ?? 0,
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

/** An action whose vectors are not there yet is taken for an average one, so that it neither wins nor loses by that. */
function closeness(ids: ReadonlySet<number>, { vector, vectors }: Meaning): Map<number, Closeness> {
  const known = new Map<number, Closeness>()
  const sum = { short: 0, whole: 0 }
  for (const id of ids) {
    if (!vectors.has(id)) continue
    const close = vectors.compare(vector, id)
    known.set(id, close)
    sum.short += close.short
    sum.whole += close.whole
  }
  const usual = { short: sum.short / (known.size || 1), whole: sum.whole / (known.size || 1) }
  for (const id of ids) if (!known.has(id)) known.set(id, usual)
  return known
}

/** How much of what a question is about an app has no word for. There, people mean things that they made themselves. */
function strangeness({ nouns, nounTotal, rarities }: Question, app: AppView): number {
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
