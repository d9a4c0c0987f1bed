import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../src/lib/json.ts'
import type { SearchableAction } from '../../src/search/indexed-action.ts'
import { sentencesFrom } from './sentences.ts'

/** A set of tools, and queries with their relevant tools. */
export interface TestSet {
  readonly name: string
  /** Whether one of the relevant tools is enough (`any`), or all are needed. */
  readonly mode: 'any' | 'all'
  readonly ids: readonly string[]
  readonly subjects: readonly SearchableAction[]
  readonly queries: readonly Query[]
}

export interface Query {
  readonly text: string
  readonly relevant: ReadonlySet<string>
  /** Queries of one group are in the same fold, so that weights are not evaluated on queries they were fitted on. */
  readonly group: string
}

interface ToolLine {
  readonly id: string
  readonly app: string
  readonly app_name?: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly input_schema?: JsonObject
}

interface QueryLine {
  readonly query: string
  readonly relevant: string[]
  readonly app?: string
}

/** The folder of the public data sets. They are not part of the repository, because we may not redistribute them. */
export const folder = process.env.QM_RETRIEVAL ?? new URL('../../../shared/retrieval', import.meta.url).pathname

const givenNames = [
  'n8n-steps-dev',
  'activepieces-titles',
  'metatool-dev',
  'toolret-apigen',
  'toolret-apibank',
  'toollens',
]
/** Sentences that name an app. Generated, because no given set has them. */
const generatedName = 'app-sentences'
export const setNames = [...givenNames, generatedName]

/** The sets whose actions belong to apps. */
export const isOfApps = (name: string): boolean =>
  ['n8n-steps-dev', 'activepieces-titles', generatedName].includes(name)

/** Whether queries of the other set should find nothing in this one. The two sets of apps overlap. */
export const isForeign = (name: string, other: string): boolean =>
  name !== other && !(isOfApps(name) && isOfApps(other)) && other !== 'toollens' && name !== 'toollens'

export const hasData = (): boolean => givenNames.every((name) => existsSync(join(folder, name, 'tools.jsonl')))

export const noData = `No data found in ${folder}. Set QM_RETRIEVAL to the folder with ${givenNames.join(', ')}.`

const lines = <T>(...path: string[]): T[] =>
  readFileSync(join(folder, ...path), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T)

/** `bare` omits the fields that not every tool has: titles of actions, and names of apps in addition to their slugs. */
export function readSet(name: string, dress: 'full' | 'bare' = 'full'): TestSet {
  if (name === generatedName) {
    const { queries } = sentencesFrom(readSet('n8n-steps-dev'))
    return { ...readSet('n8n-steps-dev', dress), name, queries }
  }
  const tools = lines<ToolLine>(name, 'tools.jsonl')
  const queries = lines<QueryLine>(name, 'queries.jsonl')
  const { mode } = JSON.parse(readFileSync(join(folder, name, 'dataset.json'), 'utf8')) as TestSet
  return {
    name,
    mode,
    ids: tools.map(({ id }) => id),
    subjects: tools.map((tool) => toSubject(tool, dress)),
    queries: queries.map(({ query, relevant, app }) => ({
      text: query,
      relevant: new Set(relevant),
      group: app ?? relevant[0]?.split('/')[0] ?? '',
    })),
  }
}

function toSubject(
  { app, app_name, name, title, description, input_schema }: ToolLine,
  dress: 'full' | 'bare',
): SearchableAction {
  const common = { app: app === '' ? 'tools' : app, name, schema: input_schema ?? {} }
  if (dress === 'full') return { ...common, appName: app_name, title, description }
  return { ...common, description: title && description !== title ? `${title}. ${description ?? ''}` : description }
}

export interface Quality {
  readonly hit1: number
  readonly recall5: number
  readonly ndcg10: number
}

/** Hit@1, R@5 and NDCG@10 in percent, computed like score.mjs of the data sets. */
export function measure(set: TestSet, ranked: readonly (readonly string[])[]): Quality {
  const sums = { hit1: 0, recall5: 0, ndcg10: 0 }
  for (const [position, { relevant }] of set.queries.entries()) {
    const hits = (ranked[position] ?? []).slice(0, 10).map((id) => relevant.has(id))
    const first = hits.indexOf(true) + 1
    const gain = (at: number) => 1 / Math.log2(at + 2)
    sums.hit1 += Number(first === 1)
    if (set.mode === 'any') {
      sums.recall5 += Number(first > 0 && first <= 5)
      sums.ndcg10 += first > 0 ? gain(first - 1) : 0
    } else {
      sums.recall5 += hits.slice(0, 5).filter(Boolean).length / relevant.size
      const ideal = Array.from({ length: Math.min(10, relevant.size) }, (_, at) => gain(at))
      const total = (gains: number[]) => gains.reduce((sum, one) => sum + one, 0)
      sums.ndcg10 += total(hits.map((hit, at) => (hit ? gain(at) : 0))) / total(ideal)
    }
  }
  const percent = (sum: number) => (100 * sum) / set.queries.length
  return { hit1: percent(sums.hit1), recall5: percent(sums.recall5), ndcg10: percent(sums.ndcg10) }
}
