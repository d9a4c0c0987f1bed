/**
 * Measures search quality on the public data sets: plain BM25, the platform's keyword search, and the platform's search with
 * the built-in model. Hit@1 / R@5 / NDCG@10 in percent.
 *
 *     QM_RETRIEVAL=<folder> node bench/resolve/quality.ts [sets,…]
 */

import type { Candidate } from '../../src/search/rank.ts'
import { hasData, measure, noData, readSet, setNames } from './data.ts'
import { EmbeddedTexts } from './embedded.ts'
import { indexSet } from './indexed.ts'
import { plainSearch } from './plain.ts'

if (hasData()) await run()
else console.log(noData)

async function run(): Promise<void> {
  const texts = new EmbeddedTexts()
  console.log(`${'set'.padEnd(28)}${'plain BM25'.padEnd(24)}${'keywords'.padEnd(24)}keywords and vectors`)
  for (const name of process.argv[2]?.split(',') ?? setNames) {
    for (const dress of ['full', 'bare'] as const) {
      const set = readSet(name, dress)
      const { byWords, byMeaning } = await indexSet(set, texts)
      const idsOf = (found: readonly Candidate[]) => found.map(({ id }) => id)
      const searches: ((text: string) => number[])[] = [
        plainSearch(set.subjects),
        (text) => idsOf(byWords(text)),
        (text) => idsOf(byMeaning(text)),
      ]
      const columns = searches.map((search) => {
        const ranked = set.queries.map(({ text }) =>
          search(text)
            .slice(0, 10)
            .map((id) => set.ids[id] as string),
        )
        const { hit1, recall5, ndcg10 } = measure(set, ranked)
        return [hit1, recall5, ndcg10]
          .map((figure) => figure.toFixed(1).padStart(5))
          .join(' /')
          .padEnd(24)
      })
      console.log(`${`${name}, ${dress}`.padEnd(28)}${columns.join('')}`.trimEnd())
    }
  }
}
