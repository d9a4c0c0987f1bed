import { setImmediate as othersFirst } from 'node:timers/promises'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Page, Tags, Window } from '../model/page.ts'
import type { Tables } from './tables.ts'

/** What of a record decides who may see it. */
export interface Facts {
  readonly id: string
  readonly project_id?: string | null
  readonly path?: string
  readonly tags?: Tags
}

/**
 * Which records a principal may see. `undefined` means all that the query finds, so the database can count and cut; a
 * function is asked record by record, because who may see what is decided by rules that no query can express.
 */
export type Visible = ((facts: Facts) => boolean) | undefined

interface Options<Table extends keyof Tables> {
  readonly order?: 'asc' | 'desc'
  /** Those that the noun is made of; all unless given. */
  readonly columns?: readonly (keyof Tables[Table] & string)[]
  /** Those that decide who may see it. */
  readonly facts?: readonly (keyof Facts)[]
}

/** Enough that few questions are asked, and few enough that nobody else waits long. */
const batchSize = 1000

/** One page of the visible records, in the order of their ids. `total` counts only those, and all of them. */
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

/** Milliseconds after which others are served. */
const longestSlice = 20

/** Goes through all that the query finds, a batch at a time and only as much of each record as decides on it. */
async function visibleIds<Table extends keyof Tables>(
  where: SelectQueryBuilder<Tables, Table, object>,
  { limit, offset }: Window,
  visible: (facts: Facts) => boolean,
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
      // How long the rules take to decide is up to those who wrote them.
      if (performance.now() - since > longestSlice) {
        await othersFirst()
        since = performance.now()
      }
      if (!visible(tags === undefined ? row : { ...row, tags: JSON.parse(tags) })) continue
      if (total >= offset && ids.length < limit) ids.push(row.id)
      total++
    }
    last = batch.length === batchSize ? batch.at(-1)?.id : undefined
    if (last !== undefined) await othersFirst()
  } while (last !== undefined)
  return { ids, total }
}

type FactsRow = Omit<Facts, 'tags'> & { readonly tags?: string }
