/**
 * Fits the weights of src/search/weights.ts on the public data sets and prints that file.
 *
 *     node bench/resolve/fit.ts [check [sets,…]] > weights.ts
 *
 * Each regime (whether the query names an app, and whether there are vectors) has a linear model with a softmax over the
 * candidates of a query. Fitting maximizes the likelihood that the relevant action comes first. The regularization is
 * strong, because the labels are noisy and other catalogues differ. Prints the quality to standard error; with `check`, also
 * the quality on apps that were not used for fitting.
 */

import { maxAnswers } from '../../src/search/answer.ts'
import { type FeatureName, featureNames } from '../../src/search/features.ts'
import { indexAction } from '../../src/search/indexed-action.ts'
import { Index } from '../../src/search/postings.ts'
import { read } from '../../src/search/query.ts'
import { candidates, regimeOf } from '../../src/search/rank.ts'
import { type Scope, scopeOf } from '../../src/search/scope.ts'
import { gist } from '../../src/search/semantic-index.ts'
import { Vectors } from '../../src/search/vectors.ts'
import type { Regime } from '../../src/search/weights.ts'
import { hasData, isForeign, isOfApps, measure, noData, type Quality, readSet, setNames, type TestSet } from './data.ts'
import { EmbeddedTexts } from './embedded.ts'

/** A query with its candidates. */
interface Case {
  readonly group: string
  readonly weight: number
  readonly regime: Regime
  readonly ids: readonly string[]
  /** One row of features for each candidate. */
  readonly rows: Float32Array
  readonly isRight: readonly boolean[]
}

/** Features that are too rare in the data sets to be fitted. */
const byHand: Partial<Record<FeatureName, number>> = { deprecated: -1 }
/** The total weight of each set, regardless of its number of queries. Every nth query is used. */
const share: Record<string, { weight: number; every: number }> = {
  'n8n-steps-dev': { weight: 3, every: 1 },
  'activepieces-titles': { weight: 2, every: 4 },
  'metatool-dev': { weight: 1, every: 3 },
  'toolret-apigen': { weight: 1, every: 2 },
  'toolret-apibank': { weight: 0.1, every: 1 },
  toollens: { weight: 0.05, every: 12 },
  'app-sentences': { weight: 2, every: 2 },
}
const penalty = 0.008
/** A named app is almost always right, so the regularization of its weight is weaker. */
const isOfApp = featureNames.map((name) => name === 'app' || name === 'app_lead')
const penalties = isOfApp.map((isApp) => (isApp ? penalty / 8 : penalty))
const count = featureNames.length

if (!hasData()) {
  console.error(noData)
  process.exit(0)
}
const texts = new EmbeddedTexts()
const sets: { label: string; set: TestSet; cases: Case[]; foreign: Case[] }[] = []
for (const name of process.argv[3]?.split(',') ?? setNames) {
  for (const dress of dressesOf(name)) {
    const set = readSet(name, dress)
    const others = setNames.filter((other) => isForeign(name, other)).map((other) => readSet(other).queries)
    for (const hasMeaning of [true, false]) {
      console.error(`reading ${name}, ${dress}, ${hasMeaning ? 'with' : 'without'} vectors`)
      const catalogue = await indexSet(set, hasMeaning)
      const { weight, every } = share[name] ?? { weight: 0, every: 1 }
      const own = set.queries.filter((_, position) => position % every === 0)
      const foreign = others.flatMap((queries) => queries.filter((_, position) => position % 60 === 0))
      sets.push({
        label: `${name}, ${dress}, ${hasMeaning ? 'vectors' : 'keywords'}`,
        set: { ...set, queries: own },
        cases: await casesOf(own, weight, catalogue),
        foreign: await casesOf(foreign, 0, catalogue),
      })
    }
  }
}
const regimes: Regime[] = [
  'app_meaning',
  'app_words',
  'sentence_meaning',
  'sentence_words',
  'plain_meaning',
  'plain_words',
]
const fitted = fitAll(() => true)
print(fitted)
report('fitted on all', () => 0, [fitted])
if (process.argv[2] === 'check') {
  const folds = 5
  const parts = Array.from({ length: folds }, (_, fold) => fitAll(({ group }) => foldOf(group) % folds !== fold))
  report('cross-validated by app', ({ group }) => foldOf(group) % folds, parts)
}

/** Only the sets of apps have titles and names of apps that can be omitted. */
function dressesOf(name: string): readonly ('full' | 'bare')[] {
  return isOfApps(name) ? ['full', 'bare'] : ['full']
}

interface IndexedSet {
  readonly ids: readonly string[]
  readonly index: Index
  readonly view: Scope
  readonly vectors: Vectors | undefined
}

async function indexSet(set: TestSet, hasMeaning: boolean): Promise<IndexedSet> {
  const index = new Index()
  for (const subject of set.subjects) index.add(indexAction(subject))
  const view = await scopeOf(index, Uint32Array.from(set.subjects.keys()))
  return { ids: set.ids, index, view, vectors: hasMeaning ? await vectorsOf(index, view) : undefined }
}

async function casesOf(queries: TestSet['queries'], weight: number, catalogue: IndexedSet): Promise<Case[]> {
  const { index, view, vectors } = catalogue
  if (vectors)
    await texts.prepare(
      'query',
      queries.map(({ text }) => gist(text)),
    )
  return queries.map((query) => {
    const question = read(query.text, index, view)
    const meaning = vectors && { vector: texts.get('query', gist(query.text)), vectors }
    const found = candidates(question, index, view, meaning)
    const rows = new Float32Array(found.length * count)
    for (const [at, { features }] of found.entries()) {
      for (const [column, name] of featureNames.entries()) {
        rows[at * count + column] = byHand[name] === undefined ? features[name] : 0
      }
    }
    const ids = found.map(({ id }) => catalogue.ids[id] as string)
    return {
      group: query.group,
      weight: weight / queries.length,
      regime: regimeOf(question, meaning),
      ids,
      rows,
      isRight: ids.map((id) => query.relevant.has(id)),
    }
  })
}

async function vectorsOf(index: Index, view: Scope): Promise<Vectors> {
  const vectors = new Vectors(384)
  await texts.prepare(
    'document',
    index.actions.map((profile) => profile.texts()).flatMap(({ short, whole }) => [short, whole]),
  )
  for (const id of view.ids) {
    const { short, whole } = (index.actions[id] as Index['actions'][number]).texts()
    vectors.set(id, texts.get('document', short), texts.get('document', whole))
  }
  return vectors
}

type Fitted = Map<Regime, Float64Array>

function fitAll(take: (one: Case) => boolean): Fitted {
  const all = sets.flatMap(({ cases }) => cases).filter(take)
  return new Map(regimes.map((regime) => [regime, fitWeights(all.filter((one) => one.regime === regime))]))
}

/** Minimizes the negative log-likelihood with Adam, on features divided by their standard deviation. */
function fitWeights(cases: readonly Case[]): Float64Array {
  const useful = cases.filter(({ isRight }) => isRight.includes(true))
  const deviations = deviationsOf(useful)
  const total = useful.reduce((sum, { weight }) => sum + weight, 0) || 1
  const weights = new Float64Array(count)
  const mean = new Float64Array(count)
  const square = new Float64Array(count)
  const rounds = 120
  for (let round = 1; round <= rounds; round++) {
    const gradient = new Float64Array(count)
    for (const one of useful) addGradient(one, weights, deviations, gradient)
    const step = (round > 0.7 * rounds ? 0.06 : 0.3) * (Math.sqrt(1 - 0.99 ** round) / (1 - 0.9 ** round))
    for (let at = 0; at < count; at++) {
      const slope = (gradient[at] as number) / total + (penalties[at] as number) * (weights[at] as number)
      mean[at] = 0.9 * (mean[at] as number) + 0.1 * slope
      square[at] = 0.99 * (square[at] as number) + 0.01 * slope * slope
      weights[at] = (weights[at] as number) - (step * (mean[at] as number)) / (Math.sqrt(square[at] as number) + 1e-8)
      // The action of an app must not lose because the request names that app.
      if (isOfApp[at] && (weights[at] as number) < 0) weights[at] = 0
    }
  }
  return weights.map((weight, at) => weight / (deviations[at] as number))
}

function addGradient(one: Case, weights: Float64Array, deviations: Float64Array, gradient: Float64Array): void {
  const { rows, isRight } = one
  const odds = isRight.map((_, row) => {
    let sum = 0
    for (let at = 0; at < count; at++)
      sum += ((weights[at] as number) * (rows[row * count + at] as number)) / (deviations[at] as number)
    return sum
  })
  const max = Math.max(...odds)
  const chances = odds.map((value) => Math.exp(value - max))
  const all = chances.reduce((sum, chance) => sum + chance, 0)
  const right = chances.reduce((sum, chance, row) => sum + (isRight[row] ? chance : 0), 0)
  for (const [row, chance] of chances.entries()) {
    const pushed = one.weight * (chance / all - (isRight[row] ? chance / right : 0))
    if (Math.abs(pushed) < 1e-10) continue
    for (let at = 0; at < count; at++) {
      gradient[at] =
        (gradient[at] as number) + (pushed * (rows[row * count + at] as number)) / (deviations[at] as number)
    }
  }
}

function deviationsOf(cases: readonly Case[]): Float64Array {
  const sum = new Float64Array(count)
  const squares = new Float64Array(count)
  let rows = 0
  for (const one of cases) {
    for (let at = 0; at < one.rows.length; at++) {
      const value = one.rows[at] as number
      sum[at % count] = (sum[at % count] as number) + value
      squares[at % count] = (squares[at % count] as number) + value * value
    }
    rows += one.isRight.length
  }
  return sum.map((total, at) => Math.sqrt(Math.max(0, (squares[at] as number) / rows - (total / rows) ** 2)) || 1)
}

function sumFor({ rows }: Case, row: number, weights: Float64Array): number {
  let sum = 0
  for (let at = 0; at < count; at++) sum += (weights[at] as number) * (rows[row * count + at] as number)
  return sum
}

function foldOf(text: string): number {
  let hash = 7
  for (const letter of `${text}x`) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0
  // The lowest bits are the same for all apps of a set.
  return hash >>> 4
}

function report(title: string, foldFor: (one: Case) => number, fitted: readonly Fitted[]): void {
  console.error(title)
  for (const { label, set, cases } of sets) {
    const ranked = cases.map((one) => {
      const weights = fitted[foldFor(one)]?.get(one.regime) as Float64Array
      const sums = one.ids.map((id, row) => ({ id, sum: sumFor(one, row, weights) }))
      return sums.sort((a, b) => b.sum - a.sum).map(({ id }) => id)
    })
    const named = (100 * cases.filter(({ regime }) => regime.startsWith('app')).length) / cases.length
    console.error(`  ${label.padEnd(36)} ${figures(measure(set, ranked))}  ${named.toFixed(0)} % name an app`)
  }
}

function figures({ hit1, recall5, ndcg10 }: Quality): string {
  return [hit1, recall5, ndcg10].map((figure) => figure.toFixed(1).padStart(5)).join(' / ')
}

/**
 * The bias turns scores into probabilities: if a relevant action is among the first five, the best one gets more than 0.5,
 * with few exceptions. If an app is named, nearly all requests have an answer. Also prints the share of foreign queries
 * whose best result gets less.
 */
function biasOf(regime: Regime, weights: Float64Array): number {
  const bests = (cases: readonly Case[], keep: (one: Case, row: number) => boolean) =>
    cases
      .filter((one) => one.regime === regime && one.ids.length > 0)
      .flatMap((one) => {
        const sums = one.ids.map((_, row) => sumFor(one, row, weights))
        const row = sums.indexOf(Math.max(...sums))
        return keep(one, row) ? [sums[row] as number] : []
      })
      .sort((a, b) => a - b)
  const right = bests(
    sets.flatMap(({ cases }) => cases),
    (one) => isInAnswer(one, weights),
  )
  const wrong = bests(
    sets.flatMap(({ foreign }) => foreign),
    () => true,
  )
  const threshold = right[Math.floor(right.length * (regime.startsWith('plain') ? 0.04 : 0.015))] ?? 0
  const refused = wrong.filter((sum) => sum < threshold).length / wrong.length
  console.error(
    `${regime}: ${right.length} relevant results, ${wrong.length} foreign queries, ${(100 * refused).toFixed(0)} % below the threshold`,
  )
  return -threshold
}

/** Whether a relevant action is among the first five. */
function isInAnswer(one: Case, weights: Float64Array): boolean {
  const sums = one.ids.map((_, row) => ({ row, sum: sumFor(one, row, weights) }))
  sums.sort((a, b) => b.sum - a.sum)
  return sums.slice(0, maxAnswers).some(({ row }) => one.isRight[row])
}

function print(fitted: Fitted): void {
  const rounded = (value: number) => Number(value.toFixed(2))
  const table = regimes.map((regime) => {
    const weights = fitted.get(regime) as Float64Array
    const rows = featureNames.map((name, at) => [name, byHand[name] ?? rounded(weights[at] as number)])
    return [regime, { bias: rounded(biasOf(regime, weights)), ...Object.fromEntries(rows) }]
  })
  console.log(`import type { FeatureName } from './features.ts'

/** Whether the request names an app, and whether vectors are available. */
export type Regime = ${regimes.map((regime) => `'${regime}'`).join(' | ')}

/** Printed by bench/resolve/fit.ts, which explains how they are fitted. A feature that is not listed has weight 0. */
export const weights: Readonly<Record<Regime, Partial<Record<FeatureName, number>> & { readonly bias: number }>> = ${JSON.stringify(Object.fromEntries(table), null, 2)}`)
}
