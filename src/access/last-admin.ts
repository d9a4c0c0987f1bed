import type { Guard } from '../db/guarded.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import { evaluate } from './evaluate.ts'

/** Whether it can create a key with full access. `CreateApiKey` alone is not enough: the new key would have no policies. */
export const isAdmin = (key: Principal): boolean =>
  evaluate(key, 'api-keys:CreateApiKey', { projectId: null, kind: 'api-key', id: '*' }).allowed &&
  evaluate(key, 'access-policies:AttachAccessPolicy', { projectId: null, kind: 'access-policy', id: '*' }).allowed

const endOf = ({ expiresAt }: Principal): number => expiresAt ?? Number.POSITIVE_INFINITY

/**
 * Rejects a change that removes the last administrator, a key or a person, or makes its key expire sooner: only the
 * operator could restore access.
 */
export const keepAnAdmin: Guard = (before, after) => {
  const admins = new Map(before.filter(isAdmin).map((key) => [key.id, endOf(key)]))
  if (admins.size === 0) return
  const stays = (key: Principal) => isAdmin(key) && endOf(key) >= (admins.get(key.id) ?? 0)
  if (!after.some(stays)) throw new PlatformError('LAST_ADMIN_KEY', {})
}
