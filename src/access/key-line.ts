import { operatorKeys } from './first-start.ts'

/** Maps a key id to its ancestors: the keys it was created with, directly or indirectly. Revoked keys have no entry. */
export type KeyLine = ReadonlyMap<string, readonly string[]>

/**
 * Whether a key was created with another one, directly or indirectly. The creator of a key sees its value, so both keys
 * may belong to the same person.
 *
 * Operator keys do not count as ancestors. Every other key descends from one of them, so nobody could approve the
 * operator's calls. And the operator can turn approvals off anyway.
 */
export const descends = (key: string, from: string, line: KeyLine): boolean =>
  !operatorKeys.has(from) && line.get(key)?.includes(from) === true

/** A key and its descendants count as one person. */
export const isOnePerson = (one: string, other: string, line: KeyLine): boolean =>
  one === other || descends(one, other, line) || descends(other, one, line)
