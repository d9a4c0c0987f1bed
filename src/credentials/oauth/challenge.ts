import type { Challenge } from './types.ts'

/** Reads the `Bearer` challenge of a `WWW-Authenticate` header. */
export function parseChallenge(_header: string | null | undefined): Challenge {
  throw new Error('Not implemented yet')
}
