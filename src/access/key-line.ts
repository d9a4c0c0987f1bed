import { operatorKeys } from './first-start.ts'

/** By key, the keys that it was created with, directly and through others. Revoked keys are not there. */
export type KeyLine = ReadonlyMap<string, readonly string[]>

/**
 * Whether a key was created with another one, directly or through others. Whoever creates a key sees its value, so the
 * two may be in the same hands.
 *
 * The operator's own keys are left out. Every other key descends from one of them, so that nobody could decide on what
 * the operator asks for; and whoever holds one can switch off what asks for approval in the first place.
 */
export const descends = (key: string, from: string, line: KeyLine): boolean =>
  !operatorKeys.has(from) && line.get(key)?.includes(from) === true

/** A key and those that were created with it count as one person. */
export const isOnePerson = (one: string, other: string, line: KeyLine): boolean =>
  one === other || descends(one, other, line) || descends(other, one, line)
