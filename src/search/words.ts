/** Words that do not help to identify an action. */
const stopWords = new Set(
  `a about am an and any are as at be been being but by can could did do does doing for from had has have having he her
  here hers him his how i if in into is it its itself just let me might more most my myself no nor not now of off on
  once only or other our ours ourselves out own please s same shall she should so some such t than that the their
  theirs them themselves then there these they this those through to too under until up us very was we were what when
  where which while who whom why will with would you your yours yourself d ll m re ve want wants need needs like help
  tell know looking`.split(/\s+/),
)

/** Words that the suffix rules below would stem wrongly. */
const irregular = new Map(
  Object.entries({
    people: 'person',
    children: 'child',
    men: 'man',
    women: 'woman',
    sent: 'send',
    found: 'find',
    got: 'get',
    made: 'mak',
    written: 'writ',
    wrote: 'writ',
    bought: 'buy',
    sold: 'sell',
    built: 'build',
    news: 'news',
    sms: 'sms',
    aws: 'aws',
    dns: 'dns',
    gps: 'gps',
    ios: 'ios',
    cms: 'cms',
    rss: 'rss',
    css: 'css',
    tts: 'tts',
    status: 'status',
    analysis: 'analyz',
    analyses: 'analyz',
  }),
)

/** Strips suffixes, so that "contacts", "creating" and "updated" match "contact", "create" and "update". */
export function stem(word: string): string {
  const known = irregular.get(word)
  if (known !== undefined) return known
  if (/^[a-z][^aeiousy\d]s$/.test(word)) return word.slice(0, -1)
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word
  let base = word
  if (base.endsWith('ies') && base.length > 4) base = `${base.slice(0, -3)}y`
  else if (/(x|z|ch|sh)es$/.test(base)) base = base.slice(0, -2)
  else if (base.endsWith('s') && !/(ss|us|is)$/.test(base)) base = base.slice(0, -1)

  const bare = /^(.+?)(ing|ed)$/.exec(base)?.[1]
  if (bare && bare.length > 2 && /[aeiouy]/.test(bare))
    base = bare.length > 3 ? bare.replace(/([bdfgmnprt])\1$/, '$1') : bare
  base = base.replace(/i[sz]ation$/, 'iz').replace(/(.{3})ation$/, '$1at')
  if (base.length > 3 && base.endsWith('e')) return base.slice(0, -1)
  return base.length > 4 && base.endsWith('y') ? `${base.slice(0, -1)}i` : base
}

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
const isAscii = /^[\x00-\x7f]*$/

/** The words of a text in lower case, unstemmed. `getAllContacts` and `get_all_contacts` give the same words. */
export function splitWords(text: string): string[] {
  if (isAscii.test(text)) return splitPlain(text)
  return spaced(text)
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap((word) => (word === '' ? [] : unspaced.test(word) ? pairsOf(word) : [word]))
}

const [upper, lower, digit, other] = [1, 2, 3, 0]
const letterKinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code)
  return /[A-Z]/.test(letter) ? upper : /[a-z]/.test(letter) ? lower : /[0-9]/.test(letter) ? digit : other
})

/** A fast path for ASCII: most texts are ASCII, and indexing spends most of its time here. */
function splitPlain(text: string): string[] {
  const words: string[] = []
  let start = -1
  let before = other
  for (let at = 0; at <= text.length; at++) {
    const kind = at < text.length ? (letterKinds[text.charCodeAt(at)] as number) : other
    // A capital begins a word unless it continues a run of capitals. The last of a run begins the next word:
    // "HTTPServer".
    const begins =
      kind === upper && before !== other && (before !== upper || letterKinds[text.charCodeAt(at + 1)] === lower)
    if (start >= 0 && (kind === other || begins)) {
      words.push(text.slice(start, at).toLowerCase())
      start = -1
    }
    if (start < 0 && kind !== other) start = at
    before = kind
  }
  return words
}

/** An identifier with spaces between its words, without accents. */
export function spaced(text: string): string {
  // Most texts are ASCII, and this path takes a third of the time.
  if (isAscii.test(text)) {
    return text
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
      .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
      .replaceAll(/[_\-./]+/g, ' ')
  }
  return text
    .normalize('NFKD')
    .replaceAll(/\p{Mn}+/gu, '')
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replaceAll(/[_\-./]+/g, ' ')
}

/** In scripts without spaces, each pair of adjacent characters counts as a word. */
const pairsOf = (word: string): string[] => {
  const letters = [...word]
  return letters.length < 2 ? letters : letters.slice(1).map((letter, index) => `${letters[index]}${letter}`)
}

/** A cache: texts have few distinct words. */
const known = new Map<string, string>()
const maxKnown = 50_000

/** Stemmed words, as they are indexed. */
export function toTerms(words: readonly string[]): string[] {
  const terms: string[] = []
  for (const word of words) {
    let term = known.get(word)
    if (term === undefined) {
      term = stopWords.has(word) ? '' : stem(word)
      if (known.size >= maxKnown) known.clear()
      if (word.length < 40) known.set(word, term)
    }
    if (term !== '') terms.push(term)
  }
  return terms
}

export const termsOf = (text: string): string[] => toTerms(splitWords(text))

export type VerbClass = keyof typeof verbs

/** The words people use for each kind of operation. */
const verbs = {
  get: 'get retrieve fetch read load pull obtain grab receive return view show display check describe info detail',
  list: 'list browse enumerate',
  search: 'search find query select filter lookup discover locate match',
  create:
    'create add new make insert append register save store log write record generate start schedule book draft build compose put',
  update: 'update edit change modify set patch rename mark reschedule assign adjust replace toggle sync close complete',
  upsert: 'upsert',
  delete: 'delete remove destroy clear cancel erase drop trash purge unassign discard revoke unsubscribe',
  send: 'send submit publish notify post reply email alert forward broadcast respond deliver tweet share inform remind tell',
  upload: 'upload import attach push',
  download: 'download export extract',
  move: 'move copy duplicate clone archive transfer',
  run: 'run execute trigger call invoke process calculate compute convert solve translate',
}

/** Verbs of several words, and the single verb that each stands for. */
const phrases = new Map(
  Object.entries({
    search: 'look for, look up, search for, hunt for, track down',
    get: 'look at, find out, bring up, show me, give me, tell me',
    create: 'write down, note down, set up, put in, put on, sign up',
    update: 'fill in, fill out, turn on, turn off, switch on, switch off',
    delete: 'throw away, throw out, get rid of, take away, call off, wipe out, take off',
    send: 'let know, hand over, reach out to',
    run: 'kick off, carry out',
  }).flatMap(([verb, said]) => said.split(', ').map((phrase) => [phrase, verb])),
)

/** Replaces such phrases with their verb. */
export function joinVerbs(words: readonly string[]): string[] {
  const joined: string[] = []
  for (let at = 0; at < words.length; ) {
    const [length, verb] = phraseAt(words, at)
    joined.push(verb ?? (words[at] as string))
    at += length
  }
  return joined
}

function phraseAt(words: readonly string[], at: number): [length: number, verb?: string] {
  for (const length of [3, 2]) {
    const verb = phrases.get(words.slice(at, at + length).join(' '))
    if (verb) return [length, verb]
  }
  return [1]
}

const classOf = new Map(
  (Object.keys(verbs) as VerbClass[]).flatMap((name) => verbs[name].split(' ').map((word) => [stem(word), name])),
)
for (const name of Object.keys(verbs) as VerbClass[]) classOf.set(stem(name), name)

export const isStopWord = (word: string): boolean => stopWords.has(word)

export const isVerb = (term: string): boolean => classOf.has(term)

export const findVerb = (terms: readonly string[]): VerbClass | undefined => {
  for (const term of terms) {
    const found = classOf.get(term)
    if (found) return found
  }
  return undefined
}

const alike: Readonly<Record<VerbClass, readonly VerbClass[]>> = {
  get: ['list', 'search', 'download'],
  list: ['get', 'search'],
  search: ['get', 'list'],
  create: ['upsert', 'upload', 'send', 'update'],
  update: ['upsert', 'create', 'move'],
  upsert: ['create', 'update'],
  delete: [],
  send: ['create'],
  upload: ['create', 'send'],
  download: ['get'],
  move: ['update', 'create'],
  run: [],
}

const reading = new Set<VerbClass>(['get', 'list', 'search', 'download'])

/** How the requested verb relates to the verb of an action, from best to worst. */
export const relations = ['same', 'alike', 'other', 'crossing', 'deleting'] as const
export type Relation = (typeof relations)[number]

export function relationOf(asked: VerbClass, done: VerbClass): Relation {
  if (asked === done) return 'same'
  if (alike[asked].includes(done)) return 'alike'
  if (asked === 'delete' || done === 'delete') return 'deleting'
  return reading.has(asked) === reading.has(done) ? 'other' : 'crossing'
}

/** Words that express quantity. */
const counting = new Set('many all list multiple several every each bulk batch'.split(' ').map(stem))

/** The terms that are not verbs; all terms if there are only verbs. */
export function nounsOf(terms: readonly string[]): string[] {
  const nouns = terms.filter((term) => !classOf.has(term) && !counting.has(term))
  return [...new Set(nouns.length > 0 ? nouns : terms)]
}

/** Containers that can hold anything. */
export const genericNouns: ReadonlySet<string> = new Set(
  'row record item document file message page object data resource entry custom sql'.split(' ').map(stem),
)

/** Words that different apps use for the same kind of thing. */
const kinds = [
  'email mail message msg',
  'row record entry line',
  'task issue item ticket card todo',
  'deal opportunity opp',
  'picture photo image img pic',
  'doc document file',
  'spreadsheet sheet worksheet',
  'event meeting appointment',
  'customer client contact lead',
  'person user member',
  'repo repository',
  'folder directory',
  'note comment',
  'pr pull',
  'ai agent',
  'approval wait response',
  'company organization organisation account',
  'video clip',
  'page article post blog',
  'value key cache',
  'table database db',
]

const kindred = new Map<string, Set<string>>()
for (const words of kinds.map((kind) => kind.split(' ').map(stem))) {
  for (const word of words)
    kindred.set(word, new Set([...(kindred.get(word) ?? []), ...words.filter((one) => one !== word)]))
}

/** Terms that can mean the same thing as this one. */
export const kindredOf = (term: string): ReadonlySet<string> | undefined => kindred.get(term)
