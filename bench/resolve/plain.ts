import type { SearchableAction } from '../../src/search/indexed-action.ts'

const wordsOf = (text: string) => text.toLowerCase().match(/[a-z0-9]+/g) ?? []

/** Plain BM25 without stemming, over one field. The baseline for comparison. */
export function plainSearch(subjects: readonly SearchableAction[]): (query: string) => number[] {
  const documents = subjects.map(({ app, appName = '', name, title = '', description, schema }) =>
    wordsOf(
      `${app} ${appName} ${name} ${title} ${description ?? ''} ${Object.keys(schema.properties ?? {}).join(' ')}`,
    ),
  )
  const averageLength = documents.reduce((sum, { length }) => sum + length, 0) / documents.length
  const postings = new Map<string, Map<number, number>>()
  for (const [id, words] of documents.entries()) {
    for (const word of words) {
      const holding = postings.get(word) ?? new Map<number, number>()
      holding.set(id, (holding.get(id) ?? 0) + 1)
      postings.set(word, holding)
    }
  }
  return (query) => {
    const scores = new Map<number, number>()
    for (const word of new Set(wordsOf(query))) {
      const holding = postings.get(word)
      if (!holding) continue
      const rarity = Math.log(1 + (documents.length - holding.size + 0.5) / (holding.size + 0.5))
      for (const [id, count] of holding) {
        const length = (documents[id] as string[]).length
        const weight = (count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / averageLength))
        scores.set(id, (scores.get(id) ?? 0) + rarity * weight)
      }
    }
    return [...scores].sort((a, b) => b[1] - a[1]).map(([id]) => id)
  }
}
