import { isObject, type JsonObject } from '../lib/json.ts'
import { findVerb, genericNouns, nounsOf, spaced, splitWords, toTerms, type VerbClass } from './words.ts'

/** The input of the index. */
export interface SearchableAction {
  readonly app: string
  /** The display name of the app, if known. */
  readonly appName?: string | undefined
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | null | undefined
  /** The schema without presets, so that nobody can find an action by a preset. */
  readonly schema: JsonObject
}

/** Everything about an action that is computed once and used by every search. */
export interface IndexedAction {
  readonly app: string
  /** The app's words joined, as people also write them: "googledrive". */
  readonly appSpellings: readonly string[]
  readonly appTerms: readonly string[]
  readonly nouns: readonly string[]
  /** Nouns of the title only; empty without a title. */
  readonly titleNouns: readonly string[]
  /** The terms of the title, or of the name, in order. */
  readonly sequence: readonly string[]
  readonly verbs: readonly VerbClass[]
  /** Whether it returns one item or several. */
  readonly gives: 'one' | 'many' | undefined
  readonly isGeneric: boolean
  readonly isDeprecated: boolean
  /** Name and title unstemmed, with a space around each word. */
  readonly phrases: readonly Phrase[]
  readonly parameterCount: number
  /** The input of the embedding model. Needed once, so it is not stored. */
  texts(): EmbeddingTexts
}

export interface Phrase {
  readonly spelled: string
  readonly words: number
}

const toPhrase = (words: readonly string[]): Phrase => ({ spelled: ` ${words.join(' ')} `, words: words.length })

/** A short text (app and title) and a full text. */
export interface EmbeddingTexts {
  readonly short: string
  readonly whole: string
}

/** An action on its way into the index, which stores the weights in its own format. */
export interface NewIndexedAction extends IndexedAction {
  /** How relevant each term is to the action: between 0 and 1. */
  readonly weights: ReadonlyMap<string, number>
}

/**
 * The weight of a word depends on its field (BM25F). The expected lengths are constants, not averages of the catalogue:
 * otherwise scores would reveal what other tenants have registered.
 */
const fields = {
  name: { weight: 3, shortens: 0.3, usual: 4 },
  app: { weight: 2, shortens: 0, usual: 1 },
  description: { weight: 1, shortens: 0.4, usual: 14 },
  parameters: { weight: 0.3, shortens: 0.5, usual: 8 },
} as const
const saturation = 1.2

/** Text beyond this length is ignored. No description needs more, and those of third parties can be very long. */
const longest = 1200
const maxParameters = 60

export function indexAction(subject: SearchableAction): NewIndexedAction {
  const { app, appName = '', title = '' } = subject
  const name = subject.name.slice(0, 200)
  const description = (subject.description ?? '').slice(0, longest)
  const appWords = splitWords(app)
  const nameWords = splitWords(name)
  const titleWords = splitWords(title.slice(0, 300))
  const knownAs = splitWords(appName)
  const prefix = prefixLength(nameWords, appWords.join(''))
  const appInName = nameWords.slice(0, prefix)
  const ownWords = nameWords.slice(prefix)
  const parameters = Object.keys(isObject(subject.schema.properties) ? subject.schema.properties : {}).slice(
    0,
    maxParameters,
  )

  const ownTerms = toTerms([...ownWords, ...titleWords])
  const appTerms = [...new Set(toTerms([...appWords, ...appInName, ...knownAs]))]
  const weights = new Map<string, number>()
  const add = (terms: readonly string[], field: keyof typeof fields) => {
    const { weight, shortens, usual } = fields[field]
    const worth = weight / (1 - shortens + (shortens * terms.length) / usual)
    for (const term of terms) weights.set(term, (weights.get(term) ?? 0) + worth)
  }
  add(ownTerms, 'name')
  add(appTerms, 'app')
  add(toTerms(splitWords(description)), 'description')
  add(toTerms(parameters.flatMap(splitWords)), 'parameters')
  for (const [term, weight] of weights) weights.set(term, weight / (saturation + weight))

  const nameTerms = toTerms(ownWords)
  const titleTerms = titleWords.length > 0 ? toTerms(titleWords) : nameTerms
  // A name may end in its verb: `message_send`.
  const ends = titleWords.length > 0 ? [] : [...nameTerms].reverse()
  const verbs = [findVerb(titleTerms), findVerb(ends), findVerb(nameTerms)].filter((verb) => verb !== undefined)
  const gives = countOf(titleWords.length > 0 ? titleWords : ownWords, [...ownWords, ...titleWords])
  // Getting many is listing.
  if (gives === 'many' && verbs.includes('get')) verbs.push('list')
  const nouns = nounsOf(ownTerms)
  const shown = title.slice(0, 300) || spaced(ownWords.length > 0 ? name : '') || name
  const appText = appName || (appInName.length > 1 ? appInName : appWords).join(' ')
  return {
    app,
    appSpellings: [...new Set([appWords.join(''), knownAs.join('')])].filter((spelling) => spelling !== ''),
    appTerms,
    weights,
    nouns,
    titleNouns: nounsOf(titleTerms),
    sequence: titleTerms,
    verbs: [...new Set(verbs)],
    gives,
    // A query can return anything.
    isGeneric: nouns.some((noun) => genericNouns.has(noun)) || ownTerms.includes('queri'),
    isDeprecated: /\bdeprecated\b|\blegacy\b|\bobsolete\b|\(old\)/i.test(`${title} ${description}`),
    phrases: [ownWords, titleWords].filter(({ length }) => length > 0).map(toPhrase),
    parameterCount: parameters.length,
    texts: textsLater(appText, shown, description, parameters),
  }
}

/** How many words of a name only repeat the app, as in `googleDrive_file_upload`. */
function prefixLength(words: readonly string[], app: string): number {
  let joined = ''
  for (const [index, word] of words.entries()) {
    joined += word
    if (joined === app) return index + 1 < words.length ? index + 1 : 0
    if (!app.startsWith(joined)) return 0
  }
  return 0
}

function countOf(words: readonly string[], all: readonly string[]): IndexedAction['gives'] {
  if (all.some((word) => /^(many|all|list|multiple|search|browse)$/.test(word))) return 'many'
  if (!/^(get|retrieve|fetch|read|find|download)$/.test(words[0] ?? '')) return undefined
  const end = words.findIndex((word) => /^(of|from|in|for|by)$/.test(word))
  const last = words.at(end < 0 ? words.length - 1 : end - 1) ?? ''
  return isPlural(last) ? 'many' : 'one'
}

export const isPlural = (word: string): boolean =>
  word.length > 2 &&
  /[^suio]s$/.test(word) &&
  !/^(details|settings|stats|contents|news|analytics|statistics|docs|aws|sms|dns|gps|cms|tts|has|was)$/.test(word)

/** A separate function, so that the closure does not keep the whole input of the index alive. */
const textsLater =
  (...from: Parameters<typeof textsOf>) =>
  () =>
    textsOf(...from)

function textsOf(app: string, title: string, description: string, parameters: readonly string[]): EmbeddingTexts {
  const more = description === title ? '' : ` ${description.slice(0, 500)}`
  const inputs = parameters.length > 0 ? ` (${parameters.slice(0, 8).map(spaced).join(', ').toLowerCase()})` : ''
  return { short: `${app} ${title}`.trim(), whole: `${app}: ${title}.${more}${inputs}` }
}
