/**
 * Measures what an agent gets from RESOLVE_ACTIONS, with the built-in model: how often the right action is in the answer, how
 * many actions an answer has, how often nothing is found although the set has the action, and the tokens of an answer.
 * Then the requests that must not be answered: requests of other sets, and requests that name an app after that app was
 * removed from the set.
 *
 *     QM_RETRIEVAL=<folder> node bench/resolve/answers.ts [sets,…]
 */

import { countTokens } from '../../src/operations/tokens.ts'
import { answerOf } from '../../src/search/answer.ts'
import { partsOf } from '../../src/search/parts.ts'
import type { Candidate } from '../../src/search/rank.ts'
import { type Scope, scopeOf } from '../../src/search/scope.ts'
import { gist } from '../../src/search/semantic-index.ts'
import { defaultBudget, fitPlan } from '../../src/surfaces/mcp/plan.ts'
import { hasData, isForeign, isOfApps, noData, type Query, readSet, setNames, type TestSet } from './data.ts'
import { EmbeddedTexts } from './embedded.ts'
import { type IndexedSet, indexSet } from './indexed.ts'

const texts = new EmbeddedTexts()
const percent = (part: number, whole: number) => `${((100 * part) / (whole || 1)).toFixed(1)} %`.padStart(7)
const average = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / (numbers.length || 1)

async function run(set: TestSet): Promise<void> {
  const indexed = await indexSet(set, texts)
  const answers = set.queries.map(({ text }) => answerOf(indexed.byMeaning(text)))
  const isRight = (found: readonly Candidate[], { relevant }: Query) =>
    found.some(({ id }) => relevant.has(set.ids[id] as string))
  const right = answers.filter((found, at) => isRight(found, set.queries[at] as Query)).length
  const some = answers.filter(({ length }) => length > 0)
  const printed = answers.filter((_, at) => at % 10 === 0).map((found) => print(set, found))
  const tokens = (await countTokens(printed)).sort((a, b) => a - b)
  console.log(
    [
      `${set.name.padEnd(20)} right action in the answer ${percent(right, answers.length)}`,
      `actions ${average(some.map(({ length }) => length)).toFixed(2)}`,
      `nothing found ${percent(answers.length - some.length, answers.length)}`,
      `tokens ${average(tokens).toFixed(0)}, p95 ${tokens[Math.floor(0.95 * tokens.length)]}`,
    ].join(', '),
  )
  await refusals(set, indexed)
  if (isOfApps(set.name)) await removals(set, indexed)
}

/** The text of an answer. */
function print(set: TestSet, found: readonly Candidate[]): string {
  const items = found.map(({ id }, at) => {
    const { app, name, schema } = set.subjects[id] as TestSet['subjects'][number]
    return { entry: { slug: app, type: 'action', identifier: name, json_schema: schema }, isBest: at === 0 }
  })
  return JSON.stringify(fitPlan(items, defaultBudget))
}

async function refusals(set: TestSet, { byMeaning }: IndexedSet): Promise<void> {
  const others = setNames.filter((other) => isForeign(set.name, other))
  const foreign = others.flatMap((other) => readSet(other).queries.filter((_, at) => at % 20 === 0))
  if (foreign.length === 0) return
  await texts.prepare(
    'query',
    foreign.flatMap(({ text }) => partsOf(text).map(gist)),
  )
  const answered = foreign.filter(({ text }) => answerOf(byMeaning(text)).length > 0)
  console.log(`${' '.repeat(20)} requests of other sets answered ${percent(answered.length, foreign.length)}`)
}

async function removals(set: TestSet, { index, scope, byMeaning }: IndexedSet): Promise<void> {
  const byApp = Map.groupBy(
    set.queries.filter((query, at) => at % 2 === 0 && isNamed(query.text, appOf(set, query))),
    (query) => appOf(set, query),
  )
  let asked = 0
  let given = 0
  for (const [app, queries] of byApp) {
    const without: Scope = await scopeOf(
      index,
      scope.ids.filter((id) => set.subjects[id]?.app !== app),
    )
    for (const { text } of queries) {
      const [best] = byMeaning(text, without)
      asked++
      // With "Zoho CRM" removed, "Zoho" is still an app that the request names.
      if (best && best.score > 0.5 && !isNamed(text, set.subjects[best.id]?.app ?? '')) given++
    }
  }
  console.log(`${' '.repeat(20)} app removed: another one given above 0.5 ${percent(given, asked)} of ${asked}`)
}

const appOf = (set: TestSet, { relevant }: Query): string =>
  set.subjects[set.ids.findIndex((id) => relevant.has(id))]?.app ?? ''

const bare = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
const isNamed = (text: string, app: string): boolean => app !== '' && bare(text).includes(bare(app))

if (hasData()) for (const name of process.argv[2]?.split(',') ?? setNames) await run(readSet(name))
else console.log(noData)
