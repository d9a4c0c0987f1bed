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
  order: 'asc' | 'desc' = 'asc',
): Promise<Page<Noun>> {
  const query = where.selectAll().orderBy(sql.ref('id'), order)
  const nouns = async (rows: typeof query) => ((await rows.execute()) as Tables[Table][]).map(toNoun)
  if (visible) {
    const all = (await nouns(query)).filter(visible)
    return { data: all.slice(offset, offset + limit), total: all.length, limit, offset }
  }
  const [count, data] = await Promise.all([
    where.select((e) => e.fn.countAll<number>().as('n')).executeTakeFirstOrThrow(),
    nouns(query.limit(limit).offset(offset)),
  ])
  return { data, total: Number((count as { n: number }).n), limit, offset }
}
