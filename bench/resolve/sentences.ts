import type { Query, TestSet } from './data.ts'

/** What people say around a request, with the request as `…`, the app as `@` and somebody as `*`. */
const frames = [
  'Can you … in @ for *?',
  'Could you please … on @?',
  'I need you to … for * using @.',
  'Please … in our @ account, it is about *.',
  'In @, … for the meeting with *.',
  'Use @ to … before we talk to *.',
  'We would like to … with @ today.',
  'Hey, can you … on @ so that * can see it?',
]
const people = ['Acme', 'Ana Souza', 'the Berlin team', 'our new customer', 'Globex', 'Mr. Tanaka']

/** Other words for the same thing. */
const synonyms = new Map(
  [
    'get fetch retrieve pull read',
    'list show find',
    'create add make put',
    'update change edit modify',
    'delete remove drop',
    'send post share',
    'search find look for',
    'contact person',
    'message note',
    'row line entry',
    'task todo',
    'file document',
    'issue ticket',
    'user member',
    'event meeting',
    'email mail',
  ]
    .map((line) => line.split(' '))
    .flatMap((words) => words.map((word) => [word, words.filter((other) => other !== word)] as const)),
)

/** Sentences that name an app, from requests that are titles followed by the name of an app. Always the same ones. */
export function sentencesFrom(set: TestSet): TestSet {
  const nameOf = new Map(set.ids.map((id, at) => [id, set.subjects[at]?.appName ?? set.subjects[at]?.app ?? '']))
  const queries = set.queries.flatMap((query, at) => {
    const app = nameOf.get([...query.relevant][0] ?? '') ?? ''
    const step = query.text.endsWith(app) ? query.text.slice(0, -app.length).trim() : ''
    return app === '' || step === '' ? [] : [{ ...query, text: sentence(step, app, at) } satisfies Query]
  })
  return { ...set, queries }
}

function sentence(step: string, app: string, seed: number): string {
  const pick = <T>(from: readonly T[], salt: number) =>
    from[(Math.imul(seed + 1, 2654435761 + salt) >>> 8) % from.length] as T
  const said = step
    .toLowerCase()
    .split(/\s+/)
    .map((word, at) => {
      const others = synonyms.get(word)
      return others && pick([true, true, false], at) ? pick(others, at + 7) : word
    })
  return pick(frames, 3).replace('…', said.join(' ')).replace('@', app).replace('*', pick(people, 5))
}
