import { type IndexedAction, indexAction } from '../../src/search/indexed-action.ts'
import { Index } from '../../src/search/postings.ts'
import { type Candidate, rank } from '../../src/search/rank.ts'
import { type Scope, scopeOf } from '../../src/search/scope.ts'
import { gist } from '../../src/search/semantic-index.ts'
import { Vectors } from '../../src/search/vectors.ts'
import type { TestSet } from './data.ts'
import type { EmbeddedTexts } from './embedded.ts'

/** A set in an index of its own, with the vectors of its actions and requests. */
export interface IndexedSet {
  readonly index: Index
  readonly scope: Scope
  byWords(text: string, scope?: Scope): Candidate[]
  byMeaning(text: string, scope?: Scope): Candidate[]
}

export async function indexSet(set: TestSet, texts: EmbeddedTexts): Promise<IndexedSet> {
  const index = new Index()
  const ids = set.subjects.map((subject) => index.add(indexAction(subject)))
  const scope = await scopeOf(index, Uint32Array.from(ids))
  const vectors = new Vectors(384)
  const wanted = ids.map((id) => (index.actions[id] as IndexedAction).texts())
  await texts.prepare([
    ...wanted.flatMap(({ short, whole }) => [short, whole]),
    ...set.queries.map(({ text }) => gist(text)),
  ])
  for (const [id, { short, whole }] of wanted.entries()) vectors.set(id, texts.get(short), texts.get(whole))
  return {
    index,
    scope,
    byWords: (text, part = scope) => rank(text, index, part, undefined),
    byMeaning: (text, part = scope) => rank(text, index, part, { vector: texts.get(gist(text)), vectors }),
  }
}
