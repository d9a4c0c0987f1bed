import type { Store } from '../store/store.ts'
import { operatorKeys } from './first-start.ts'

/**
 * Maps a key or person to its ancestors: the keys and people it was created with, directly or indirectly. Revoked keys and
 * people who cannot sign in have no entry.
 */
export type KeyLine = ReadonlyMap<string, readonly string[]>

export const lineOf = async (ids: readonly string[], { apiKeys, users }: Store): Promise<KeyLine> =>
  new Map([...(await apiKeys.ancestorsOf(ids)), ...(await users.ancestorsOf(ids))])

/**
 * Whether a key was created with another one, directly or indirectly. The creator of a key sees its value, so both keys
 * may belong to the same person.
 *
 * Operator keys do not count as ancestors. Every other key descends from one of them, so nobody could approve the
 * operator's calls. And the operator can turn approvals off anyway.
 */
export const descends = (key: string, from: string, line: KeyLine): boolean =>
  !operatorKeys.has(from) && line.get(key)?.includes(from) === true

/** A key and its descendants count as one person, and so do all keys that one person created. */
export const isOnePerson = (one: string, other: string, line: KeyLine): boolean => {
  const person = personOf(one, line)
  const isSamePerson = person !== undefined && person === personOf(other, line)
  return one === other || isSamePerson || descends(one, other, line) || descends(other, one, line)
}

/** The person that it is, or that created the key. */
const personOf = (id: string, line: KeyLine): string | undefined =>
  [...(line.get(id) ?? []), id].findLast((one) => one.startsWith('usr_'))
