import { type IndexedAction, indexAction } from '../../src/search/indexed-action.ts'
import { partsOf } from '../../src/search/parts.ts'
import { Index } from '../../src/search/postings.ts'
import { type Candidate, type QueryVector, rankParts } from '../../src/search/rank.ts'
import { type Scope, scopeOf } from '../../src/search/scope.ts'
import { gist } from '../../src/search/semantic-index.ts'
import { Vectors } from '../../src/search/vectors.ts'
import type { TestSet } from './data.ts'
import { type EmbeddedTexts, isBuiltIn } from './embedded.ts'

/** A set in an index of its own, with the vectors of its actions and requests. */
export interface IndexedSet {
  readonly index: Index
  readonly scope: Scope
  byWords(text: string, scope?: Scope): readonly Candidate[]
  byMeaning(text: string, scope?: Scope): readonly Candidate[]
}

export async function indexSet(set: TestSet, texts: EmbeddedTexts): Promise<IndexedSet> {
  const index = new Index()
  const ids = set.subjects.map((subject) => index.add(indexAction(subject)))
  const scope = await scopeOf(index, Uint32Array.from(ids))
  const wanted = ids.map((id) => (index.actions[id] as IndexedAction).texts())
  await texts.prepare(
    'document',
    wanted.flatMap(({ short, whole }) => [short, whole]),
  )
  await texts.prepare(
    'query',
    set.queries.flatMap(({ text }) => partsOf(text).map(gist)),
  )
  const vectors = new Vectors(texts.get('document', wanted[0]?.short ?? '').length, isBuiltIn)
  for (const [id, { short, whole }] of wanted.entries()) {
    vectors.set(id, texts.get('document', short), texts.get('document', whole))
  }
  return {
    index,
    scope,
    byWords: (text, part = scope) =>
      rankParts(
        partsWith(text, () => undefined),
        index,
        part,
      ).found,
    byMeaning: (text, part = scope) =>
      rankParts(
        partsWith(text, (one) => ({ vector: texts.get('query', gist(one)), vectors })),
        index,
        part,
      ).found,
  }
}

const partsWith = (text: string, meaningOf: (part: string) => QueryVector | undefined) =>
  partsOf(text).map((part) => ({ text: part, meaning: meaningOf(part) }))
