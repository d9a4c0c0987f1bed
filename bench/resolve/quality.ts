/**
 * Measures search quality on the public data sets: plain BM25, the platform's keyword search, and the platform's search with
 * the built-in model. Hit@1 / R@5 / NDCG@10 in percent.
 *
 *     QM_RETRIEVAL=<folder> node bench/resolve/quality.ts
 */

import { type IndexedAction, indexAction } from '../../src/search/indexed-action.ts'
import { Index } from '../../src/search/postings.ts'
import { rank } from '../../src/search/rank.ts'
import { scopeOf } from '../../src/search/scope.ts'
import { gist } from '../../src/search/semantic-index.ts'
import { Vectors } from '../../src/search/vectors.ts'
import { hasData, measure, noData, readSet, setNames } from './data.ts'
import { EmbeddedTexts } from './embedded.ts'
import { plainSearch } from './plain.ts'

if (hasData()) await run()
else console.log(noData)

async function run(): Promise<void> {
  const texts = new EmbeddedTexts()
  console.log(`${'set'.padEnd(28)}${'plain BM25'.padEnd(24)}${'keywords'.padEnd(24)}keywords and vectors`)
  for (const name of setNames) {
    for (const dress of ['full', 'bare'] as const) {
      const set = readSet(name, dress)
      const index = new Index()
      const ids = set.subjects.map((subject) => index.add(indexAction(subject)))
      const view = await scopeOf(index, Uint32Array.from(ids))
      const vectors = new Vectors(384)
      const wanted = ids.map((id) => (index.actions[id] as IndexedAction).texts())
      await texts.prepare([
        ...wanted.flatMap(({ short, whole }) => [short, whole]),
        ...set.queries.map(({ text }) => gist(text)),
      ])
      for (const [id, { short, whole }] of wanted.entries()) vectors.set(id, texts.get(short), texts.get(whole))

      const plain = plainSearch(set.subjects)
      const searches: ((text: string) => number[])[] = [
        plain,
        (text) => rank(text, index, view, undefined).map(({ id }) => id),
        (text) => rank(text, index, view, { vector: texts.get(gist(text)), vectors }).map(({ id }) => id),
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
