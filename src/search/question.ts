import { type Index, rarity } from './postings.ts'
import { isPlural } from './profile.ts'
import type { View } from './view.ts'
import { findVerb, isVerb, joinVerbs, kindredOf, nounsOf, splitWords, stem, toTerms, type VerbClass } from './words.ts'

/** A request in words, read in the light of the actions that it may mean. */
export interface Question {
  /** How many words it has. */
  readonly words: number
  readonly terms: ReadonlySet<string>
  /** How much each term tells. */
  readonly rarities: ReadonlyMap<string, number>
  /** How much all of them would tell together. */
  readonly total: number
  /** By the action's number, how much the terms say for it. */
  readonly scores: Float32Array
  /** By the place of the app, how surely it is named: between 0 and 1. */
  readonly apps: ReadonlyMap<number, number>
  readonly bestApp: number
  /** What is left without the name of the app. */
  readonly sequence: readonly string[]
  readonly verb: VerbClass | undefined
  /** Its words as they stand, each between spaces. */
  readonly spelled: string
  /** How many words are left without the name of the app. */
  readonly restCount: number
  readonly nouns: readonly string[]
  readonly nounTotal: number
  /** What is acted on: the last noun before anything that says where, for whom or how. */
  readonly head: string | undefined
  readonly kindred: ReadonlySet<string> | undefined
  readonly wantsMany: boolean
  readonly wantsOne: boolean
}

/** People say "list" where an action says "get", so the word for what is done counts for less than that for with what. */
const verbShare = 0.5

/** Beyond this a request says nothing new. */
const mostWords = 400

export function read(text: string, index: Index, view: View): Question {
  const words = joinVerbs(splitWords(text).slice(0, mostWords))
  const terms = new Set(toTerms(words))
  const rarities = new Map<string, number>()
  const scores = new Float32Array(index.size)
  let total = 0
  for (const term of terms) {
    let holding = 0
    index.each(term, view.mask, () => holding++)
    const worth = rarity(holding, view.ids.length) * (isVerb(term) ? verbShare : 1)
    rarities.set(term, worth)
    total += worth
    if (holding > 0) index.each(term, view.mask, (id, weight) => (scores[id] = (scores[id] as number) + worth * weight))
  }

  const apps = view.apps.length > 1 ? findApps(words, terms, index, view) : new Map<number, number>()
  const [best, bestApp] = [...apps].reduce((top, one) => (one[1] > top[1] ? one : top), [-1, 0])
  const rest = bestApp > 0.3 ? withoutApp(words, best, view) : words
  const sequence = toTerms(rest)
  const nouns = nounsOf(sequence)
  const headWord = findHead(rest)
  const head = headWord === undefined ? undefined : stem(headWord)
  const verb = findVerb(sequence)
  const isOne = rest.some((word) => /^(single|details?|info|information|metadata)$/.test(word))
  return {
    words: words.length,
    terms,
    rarities,
    total,
    scores,
    apps,
    bestApp,
    sequence,
    verb,
    spelled: ` ${words.join(' ')} `,
    restCount: rest.length,
    nouns,
    nounTotal: nouns.reduce((sum, noun) => sum + (rarities.get(noun) ?? 0), 0),
    head,
    kindred: head === undefined ? undefined : kindredOf(head),
    wantsMany:
      !isOne &&
      // Whoever searches does not know yet which one it is.
      (verb === 'search' ||
        (headWord !== undefined && isPlural(headWord)) ||
        words.some((word) => /^(all|many|list|every|multiple|several)$/.test(word))),
    wantsOne: isOne || rest.some((word) => /^(a|an|one|specific|latest|last|current)$/.test(word)),
  }
}

/** Which apps a request names. A name that is also an everyday word among the other apps' actions counts for less. */
function findApps(words: readonly string[], terms: ReadonlySet<string>, index: Index, view: View): Map<number, number> {
  const hits = new Map<number, { told: number; surest: number }>()
  for (const term of terms) {
    const places = view.byTerm.get(term)
    if (!places) continue
    const inside = new Map<number, number>()
    let holding = 0
    index.each(term, view.mask, (id) => {
      holding++
      const place = view.appOf[id] as number
      inside.set(place, (inside.get(place) ?? 0) + 1)
    })
    for (const place of places) {
      const outside = holding - (inside.get(place) ?? 0)
      const sure = 1 / (1 + (20 * outside) / view.ids.length + 0.03 * outside)
      const hit = hits.get(place) ?? { told: 0, surest: 0 }
      hits.set(place, { told: hit.told + telling(term, view), surest: Math.max(hit.surest, sure) })
    }
  }
  const named = new Map<number, number>()
  for (const [place, { told, surest }] of hits) {
    const all = [...(view.apps[place]?.terms ?? [])].reduce((sum, term) => sum + telling(term, view), 0)
    named.set(place, (told / all) * surest)
  }
  for (const spelling of runsOf(words)) {
    for (const place of view.bySpelling.get(spelling) ?? []) {
      const sure = hits.get(place)?.surest ?? 0.8
      named.set(place, Math.max(named.get(place) ?? 0, sure, 0.3))
    }
  }
  return named
}

/** How well a term of apps' names tells them apart: "google" does it badly. */
const telling = (term: string, view: View) => Math.log(1 + view.apps.length / (view.byTerm.get(term)?.length ?? 1))

const longestRun = 4

/** Neighbouring words joined: "Google Drive" is also written "googledrive". */
function* runsOf(words: readonly string[]): Generator<string> {
  for (let start = 0; start < words.length; start++) {
    let joined = ''
    for (const word of words.slice(start, start + longestRun)) {
      joined += word
      yield joined
    }
  }
}

function withoutApp(words: readonly string[], place: number, view: View): readonly string[] {
  const terms = view.apps[place]?.terms
  const isApp = words.map((word) => terms?.has(stem(word)) === true)
  for (let start = 0; start < words.length; start++) {
    let joined = ''
    for (let end = start; end < Math.min(words.length, start + longestRun); end++) {
      joined += words[end]
      if (view.bySpelling.get(joined)?.includes(place)) isApp.fill(true, start, end + 1)
    }
  }
  const rest = words.filter((_, position) => !isApp[position])
  return rest.length > 0 ? rest : words
}

const turning = new Set(
  'from to in on for with by of via as into at using after before if when per through and or about inside within'.split(
    ' ',
  ),
)

function findHead(words: readonly string[]): string | undefined {
  const end = words.findIndex((word, position) => position > 0 && turning.has(word))
  const phrase = end < 0 ? words : words.slice(0, end)
  return phrase.findLast((word, position) => {
    const [term] = toTerms([word])
    return term !== undefined && !/^\d+$/.test(term) && (position > 0 || findVerb([term]) === undefined)
  })
}
