/**
 * Measures the search for actions: its quality compared with plain BM25, what an agent gets, its speed, and the tokens that it
 * saves.
 *
 *     QM_RETRIEVAL=<folder> node bench/resolve.ts
 *
 * With QM_EMBEDDINGS_URL and QM_EMBEDDINGS_MODEL, as for the platform, it measures the quality of that model instead of the built-in one.
 * The public data sets are not part of the repository. Without them, it prints a message and measures nothing.
 */
await import('./resolve/quality.ts')
await import('./resolve/answers.ts')
await import('./resolve/speed.ts')
await import('./resolve/tokens.ts')
