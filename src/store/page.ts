import { type SelectQueryBuilder, sql } from 'kysely'
import type { Page, Window } from '../model/page.ts'
import type { Tables } from './tables.ts'

/**
 * Which records a principal may see. `undefined` means all that the query finds, so the database can count and cut; a
 * function is asked record by record, because who may see what is decided by rules that no query can express.
 */
export type Visible<Noun> = ((noun: Noun) => boolean) | undefined

/** One page of the visible records, in the order of their ids. `total` counts only those. */
export async function pageOfRows<Table extends keyof Tables, Noun>(
  where: SelectQueryBuilder<Tables, Table, object>,
  { limit, offset }: Window,
  visible: Visible<Noun>,
  toNoun: (row: Tables[Table]) => Noun,
  options: { readonly order?: 'asc' | 'desc'; readonly columns?: readonly (keyof Tables[Table] & string)[] } = {},
): Promise<Page<Noun>> {
  const { order = 'asc', columns } = options
  const ordered = where.orderBy(sql.ref('id'), order)
  const nouns = async (rows: typeof ordered) => {
    const query = columns ? rows.select(columns.map((column) => sql.ref(column).as(column))) : rows.selectAll()
    return ((await query.execute()) as Tables[Table][]).map(toNoun)
  }
  if (visible) {
    const all = (await nouns(ordered)).filter(visible)
    return { data: all.slice(offset, offset + limit), total: all.length, limit, offset }
  }
  const [count, data] = await Promise.all([
    where.select((e) => e.fn.countAll<number>().as('n')).executeTakeFirstOrThrow(),
    nouns(ordered.limit(limit).offset(offset)),
  ])
  return { data, total: Number((count as { n: number }).n), limit, offset }
}
