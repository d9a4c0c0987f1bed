/** What a model expects before a text, because it was trained with it. */
export interface Prefixes {
  /** Before what is searched for. */
  readonly query: string
  /** Before what is found. */
  readonly document: string
}

const retrieval = 'Represent this sentence for searching relevant passages: '

/** As the authors of these models document them. Without them, the models find less. */
const known: readonly (readonly [model: RegExp, prefixes: Prefixes])[] = [
  [/nomic-embed-text/, { query: 'search_query: ', document: 'search_document: ' }],
  [/(^|[^a-z])e5-(small|base|large)/, { query: 'query: ', document: 'passage: ' }],
  [/snowflake-arctic-embed.*(v2|2:|2$)/, { query: 'query: ', document: '' }],
  [/snowflake-arctic-embed/, { query: retrieval, document: '' }],
  [/mxbai-embed-large/, { query: retrieval, document: '' }],
  [/bge-(small|base|large)-en/, { query: retrieval, document: '' }],
]

/** The prefixes of a model, by its name. */
export const prefixesOf = (model: string): Prefixes =>
  known.find(([name]) => name.test(model.toLowerCase()))?.[1] ?? { query: '', document: '' }
