/**
 * Everything about finding actions: how often the right one is found beside plain BM25, how long it takes, and how many
 * tokens it saves.
 *
 *     QM_RETRIEVAL=<folder> node bench/resolve.ts
 *
 * The public data is not part of the repository; without it there is nothing to measure, and this says so.
 */
await import('./resolve/quality.ts')
await import('./resolve/speed.ts')
await import('./resolve/tokens.ts')
