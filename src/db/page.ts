import { setImmediate as nextTurn } from 'node:timers/promises'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Page, Tags, Window } from '../model/page.ts'
import type { Tables } from './tables.ts'

/** The fields of a record that decide who can see it. */
export interface VisibilityFacts {
  readonly id: string
  readonly project_id?: string | null
  readonly path?: string
  readonly tags?: Tags
}

/**
 * Which records a principal can see. `undefined` means all records of the query, so the database can count and paginate. A
 * function is called for each record, because a query cannot express access policies.
 */
export type Visible = ((facts: VisibilityFacts) => boolean) | undefined

interface Options<Table extends keyof Tables> {
  readonly order?: 'asc' | 'desc'
  /** Columns to select. All by default. */
  readonly columns?: readonly (keyof Tables[Table] & string)[]
  /** Columns that decide who can see the record. */
  readonly facts?: readonly (keyof VisibilityFacts)[]
}

/** Large enough to need few queries, small enough not to block other requests for long. */
const batchSize = 1000

/** One page of the visible records, ordered by id. `total` counts all visible records. */
export async function pageOfRows<Table extends keyof Tables, Noun>(
  where: SelectQueryBuilder<Tables, Table, object>,
  { limit, offset }: Window,
  visible: Visible,
  toNoun: (row: Tables[Table]) => Noun,
  options: Options<Table> = {},
): Promise<Page<Noun>> {
  const { order = 'asc', columns } = options
  const nouns = async (rows: typeof where) => {
    const ordered = rows.orderBy(sql.ref('id'), order)
    const query = columns ? ordered.select(columns.map((column) => sql.ref(column).as(column))) : ordered.selectAll()
    return ((await query.execute()) as Tables[Table][]).map(toNoun)
  }
  if (visible) {
    const { ids, total } = await visibleIds(where, { limit, offset }, visible, options)
    const data = ids.length === 0 ? [] : await nouns(where.where(sql.ref('id'), 'in', ids))
    return { data, total, limit, offset }
  }
  const [count, data] = await Promise.all([
    where.select((e) => e.fn.countAll<number>().as('n')).executeTakeFirstOrThrow(),
    nouns(where.limit(limit).offset(offset)),
  ])
  return { data, total: Number((count as { n: number }).n), limit, offset }
}

/** Milliseconds after which the loop yields to other requests. */
const longestSlice = 20

/** Scans all records of the query in batches, and reads only the columns that decide on visibility. */
async function visibleIds<Table extends keyof Tables>(
  where: SelectQueryBuilder<Tables, Table, object>,
  { limit, offset }: Window,
  visible: (facts: VisibilityFacts) => boolean,
  { order = 'asc', facts = ['id', 'project_id'] }: Options<Table>,
): Promise<{ ids: string[]; total: number }> {
  const ids: string[] = []
  let total = 0
  let last: string | undefined
  let since = performance.now()
  do {
    const rest = last === undefined ? where : where.where(sql.ref('id'), order === 'asc' ? '>' : '<', last)
    const query = rest.select(facts.map((column) => sql.ref(column).as(column))).orderBy(sql.ref('id'), order)
    const batch = (await query.limit(batchSize).execute()) as FactsRow[]
    for (const { tags, ...row } of batch) {
      // Access policies can be slow to evaluate.
      if (performance.now() - since > longestSlice) {
        await nextTurn()
        since = performance.now()
      }
      if (!visible(tags === undefined ? row : { ...row, tags: JSON.parse(tags) })) continue
      if (total >= offset && ids.length < limit) ids.push(row.id)
      total++
    }
    last = batch.length === batchSize ? batch.at(-1)?.id : undefined
    if (last !== undefined) await nextTurn()
  } while (last !== undefined)
  return { ids, total }
}

type FactsRow = Omit<VisibilityFacts, 'tags'> & { readonly tags?: string }
