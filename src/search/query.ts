import { isPlural } from './indexed-action.ts'
import { findMissingApp } from './missing-app.ts'
import { type Index, others, rarity } from './postings.ts'
import type { Scope } from './scope.ts'
import {
  findVerb,
  isStopWord,
  isVerb,
  joinVerbs,
  kindredOf,
  nounsOf,
  splitWords,
  stem,
  toTerms,
  type VerbClass,
} from './words.ts'

/** A parsed request, in the context of the actions that it can match. */
export interface Query {
  readonly words: number
  readonly terms: ReadonlySet<string>
  /** The rarity of each term. */
  readonly rarities: ReadonlyMap<string, number>
  /** The sum of all rarities. */
  readonly total: number
  /** The keyword score of each action, by action number. */
  readonly scores: Float32Array
  /** How certain it is that the request names an app, between 0 and 1, by index of the app. */
  readonly apps: ReadonlyMap<number, number>
  readonly bestApp: number
  /** The app that it names, if no action belongs to it. */
  readonly missingApp: string | undefined
  /** Whether it is a sentence, as opposed to a title. */
  readonly isSentence: boolean
  /** The terms without the name of the app. */
  readonly sequence: readonly string[]
  readonly verb: VerbClass | undefined
  /** The words unstemmed, with a space around each. */
  readonly spelled: string
  /** How many words remain without the name of the app. */
  readonly restCount: number
  readonly nouns: readonly string[]
  readonly nounTotal: number
  /** The object of the request: the last noun before anything that says where, for whom or how. */
  readonly head: string | undefined
  readonly kindred: ReadonlySet<string> | undefined
  readonly wantsMany: boolean
  readonly wantsOne: boolean
}

/** People say "list" where an action says "get", so verbs weigh less than nouns. */
const verbShare = 0.5

/** Words beyond this add nothing. */
const maxWords = 400

export function read(text: string, index: Index, scope: Scope): Query {
  const words = joinVerbs(splitWords(text).slice(0, maxWords))
  const terms = new Set(toTerms(words))
  const rarities = new Map<string, number>()
  const scores = new Float32Array(index.size)
  let total = 0
  for (const term of terms) {
    let holding = 0
    index.each(term, scope.mask, () => holding++)
    const worth = rarity(holding, scope.ids.length) * (isVerb(term) ? verbShare : 1)
    rarities.set(term, worth)
    total += worth
    if (holding > 0)
      index.each(term, scope.mask, (id, weight) => (scores[id] = (scores[id] as number) + worth * weight))
  }

  const apps = scope.apps.length > 1 ? findApps(words, terms, index, scope) : new Map<number, number>()
  const [best, bestApp] = [...apps].reduce((top, one) => (one[1] > top[1] ? one : top), [-1, 0])
  const rest = bestApp > 0.3 ? withoutApp(words, best, scope) : words
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
    missingApp: findMissingApp(text, bestApp, index, scope),
    isSentence: words.filter(isStopWord).length > 2,
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
      // A search can have several results.
      (verb === 'search' ||
        (headWord !== undefined && isPlural(headWord)) ||
        words.some((word) => /^(all|many|list|every|multiple|several)$/.test(word))),
    wantsOne: isOne || rest.some((word) => /^(a|an|one|specific|latest|last|current)$/.test(word)),
  }
}

/**
 * Finds the apps that a request names. A name counts for less if it is also a common word in the actions of other apps.
 */
function findApps(
  words: readonly string[],
  terms: ReadonlySet<string>,
  index: Index,
  scope: Scope,
): Map<number, number> {
  const hits = new Map<number, { told: number; surest: number }>()
  for (const term of terms) {
    const places = scope.byTerm.get(term)
    if (!places) continue
    const inside = new Map<number, number>()
    let holding = 0
    index.each(term, scope.mask, (id) => {
      holding++
      const place = scope.appOf[id] as number
      inside.set(place, (inside.get(place) ?? 0) + 1)
    })
    for (const place of places) {
      const outside = holding - (inside.get(place) ?? 0)
      const sure = 1 / (1 + (20 * outside) / scope.ids.length + 0.03 * outside)
      const hit = hits.get(place) ?? { told: 0, surest: 0 }
      hits.set(place, { told: hit.told + telling(term, scope), surest: Math.max(hit.surest, sure) })
    }
  }
  const named = new Map<number, number>()
  for (const [place, { told, surest }] of hits) {
    const all = [...(scope.apps[place]?.terms ?? [])].reduce((sum, term) => sum + telling(term, scope), 0)
    named.set(place, (told / all) * surest)
  }
  for (const run of runsOf(words)) {
    for (const place of scope.bySpelling.get(run.join('')) ?? []) {
      named.set(place, Math.max(named.get(place) ?? 0, certaintyOf(run, place, index, scope), 0.3))
    }
  }
  return named
}

/** A whole name is certain, unless its words are also common in the actions of other apps. */
function certaintyOf(run: readonly string[], place: number, index: Index, scope: Scope): number {
  const terms = new Set(run.map(stem))
  const counts = new Map<number, number>()
  for (const term of terms) index.each(term, scope.mask, (id) => counts.set(id, (counts.get(id) ?? 0) + 1))
  let outside = 0
  for (const [id, count] of counts) if (count === terms.size && scope.appOf[id] !== place) outside++
  return 1 / (1 + (20 * outside) / (scope.ids.length + others))
}

/** How well a term of an app name distinguishes apps. "google" does not. */
const telling = (term: string, scope: Scope) => Math.log(1 + scope.apps.length / (scope.byTerm.get(term)?.length ?? 1))

const longestRun = 4

/** Adjacent words. "Google Drive" is also written "googledrive". */
function* runsOf(words: readonly string[]): Generator<readonly string[]> {
  for (let start = 0; start < words.length; start++) {
    for (let end = start + 1; end <= Math.min(words.length, start + longestRun); end++) yield words.slice(start, end)
  }
}

function withoutApp(words: readonly string[], place: number, scope: Scope): readonly string[] {
  const terms = scope.apps[place]?.terms
  const isApp = words.map((word) => terms?.has(stem(word)) === true)
  for (let start = 0; start < words.length; start++) {
    let joined = ''
    for (let end = start; end < Math.min(words.length, start + longestRun); end++) {
      joined += words[end]
      if (scope.bySpelling.get(joined)?.includes(place)) isApp.fill(true, start, end + 1)
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
