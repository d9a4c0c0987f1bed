import { isKnownApp, isVendor } from './known-apps.ts'
import type { Index } from './postings.ts'
import type { Scope } from './scope.ts'
import { isStopWord, isVerb, splitWords, stem } from './words.ts'

/** A word as it was written. */
interface Token {
  readonly written: string
  readonly words: readonly string[]
  /** Its words joined: "QuickBooks" is "quickbooks". */
  readonly spelling: string
  readonly isCapitalized: boolean
}

/** In longer requests, the last word says little. */
const longestStep = 14
const longestName = 4

/** A request that names an app of the scope this certainly names no other app. */
const certain = 0.98
/** Below this, a short request that ends with an unknown word names an app by it. */
const doubtful = 0.5

/**
 * The app that a request names and that no action in the scope belongs to, as it was written. `bestApp` is how certainly it
 * names an app of the scope. Signs of a name: it is a well-known app; it is written like one ("QuickBooks",
 * "Checkout.com"); it starts with a company ("Google Keep"); or a word that no action is about
 * ends a short request, or follows "using".
 */
export function findMissingApp(text: string, bestApp: number, index: Index, scope: Scope): string | undefined {
  if (scope.apps.length < 2 || bestApp >= certain) return undefined
  const tokens = tokensOf(text)
  const found = knownName(tokens, scope) ?? spelledName(tokens, index, scope) ?? productOf(tokens, scope)
  return found ?? (bestApp < doubtful ? (lastName(tokens, index, scope) ?? usedName(tokens, index, scope)) : undefined)
}

function tokensOf(text: string): Token[] {
  const plain = text.slice(0, 2000).replaceAll(/\S+@\S+|https?:\S+|www\.\S+/g, ' ')
  return [...plain.matchAll(/[\p{L}\p{N}][\p{L}\p{N}.&+’'-]*/gu)].map(([matched]) => {
    const written = matched.replace(/([.’'&+-]|['’]s)+$/u, '')
    const words = splitWords(written)
    return { written, words, spelling: words.join(''), isCapitalized: /^\p{Lu}/u.test(written) }
  })
}

const written = (tokens: readonly Token[]) => tokens.map((token) => token.written).join(' ')

function knownName(tokens: readonly Token[], scope: Scope): string | undefined {
  for (let length = longestName; length > 0; length--) {
    for (let start = 0; start + length <= tokens.length; start++) {
      const run = tokens.slice(start, start + length)
      const spelling = run.map((token) => token.spelling).join('')
      const isName = isKnownApp(spelling) && !(length === 1 && isVendor(spelling))
      if (isName && run.some((token) => token.isCapitalized || isLong(token)) && !isOfApp(run, scope))
        return written(run)
    }
  }
  return undefined
}

/** A name in lower case must not be an ordinary word. */
const isLong = ({ spelling }: Token) => spelling.length > 5

/** Whether the name of an app has all these words. */
function isOfApp(run: readonly Token[], scope: Scope): boolean {
  const name = run.map(({ spelling }) => spelling).join('')
  if (scope.bySpelling.keys().some((app) => app === name || (name.length > 4 && app.includes(name)))) return true
  const [first = [], ...more] = run.flatMap(({ words }) => words).map((word) => scope.byTerm.get(stem(word)) ?? [])
  return first.some((place) => more.every((places) => places.includes(place)))
}

/** "QuickBooks" and "Checkout.com". Within a request, actions must not have these words: "JavaScript". */
function spelledName(tokens: readonly Token[], index: Index, scope: Scope): string | undefined {
  return tokens.find(
    (token, at) =>
      (/^\p{Lu}\p{Ll}+\p{Lu}/u.test(token.written) || /\.(com|io|ai|app|dev)$/i.test(token.written)) &&
      !isOfApp([token], scope) &&
      (at === tokens.length - 1 || !holdsAll(token.words.map(stem), index, scope)),
  )?.written
}

/** "Google Keep": a company, and a product that no app of the company has in its name. */
function productOf(tokens: readonly Token[], scope: Scope): string | undefined {
  const at = tokens.findIndex(({ spelling, isCapitalized }) => isCapitalized && isVendor(spelling))
  const pair = at < 0 ? [] : tokens.slice(at, at + 2)
  return pair.length === 2 && pair[1]?.isCapitalized && !isOfApp(pair, scope) ? written(pair) : undefined
}

const describing = new Set(['for', 'of', 'by', 'as', 'with', 'if', 'and', 'or'])

/** In "Send a message Acme Forms", no action is about "Acme". The words after it can be of names of apps. */
function lastName(tokens: readonly Token[], index: Index, scope: Scope): string | undefined {
  const isSentence = tokens.filter(({ words }) => words.some(isStopWord)).length > 2
  if (tokens.length < 2 || tokens.length > longestStep || isSentence) return undefined
  const isNew = tokens.map((token) => token.isCapitalized && isUnknown(token, index, scope))
  const isOther = tokens.findLastIndex(
    ({ isCapitalized, words }, at) =>
      !isNew[at] && !(isCapitalized && words.every((word) => scope.byTerm.has(stem(word)))),
  )
  const start = isNew.indexOf(true, Math.max(1, isOther + 1, tokens.length - longestName))
  if (start < 0 || describing.has(tokens[start - 1]?.spelling ?? '')) return undefined
  return written(tokens.slice(start))
}

const using = new Set(['using', 'use', 'via', 'through', 'our', 'my', 'on'])
const dates = new Set(
  'monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december'.split(
    ' ',
  ),
)

/** In a sentence, "using Acme" or "our Acme account". After "in" or "for" it can be a place or a person. */
function usedName(tokens: readonly Token[], index: Index, scope: Scope): string | undefined {
  return tokens.find(
    (token, at) =>
      using.has(tokens[at - 1]?.written.toLowerCase() ?? '') &&
      token.isCapitalized &&
      !dates.has(token.spelling) &&
      isUnknown(token, index, scope),
  )?.written
}

function isUnknown({ words }: Token, index: Index, scope: Scope): boolean {
  const [word] = words
  if (words.length !== 1 || word === undefined || word.length < 3 || !/^\p{L}/u.test(word)) return false
  const term = stem(word)
  return !isStopWord(word) && !isVerb(term) && !isSubject(term, index, scope)
}

/** Whether an action is about this term. A description may mention another app. */
function isSubject(term: string, index: Index, scope: Scope): boolean {
  if (scope.byTerm.has(term)) return true
  let found = false
  index.each(term, scope.mask, (id) => {
    found ||= index.actions[id]?.nouns.includes(term) === true
  })
  return found
}

function holdsAll(terms: readonly string[], index: Index, scope: Scope): boolean {
  const counts = new Map<number, number>()
  for (const term of new Set(terms)) index.each(term, scope.mask, (id) => counts.set(id, (counts.get(id) ?? 0) + 1))
  const needed = new Set(terms).size
  return counts.values().some((count) => count === needed)
}
