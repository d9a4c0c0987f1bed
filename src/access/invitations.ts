import { randomBytes } from 'node:crypto'
import type { Invitation } from '../store/users.ts'
import { hashKey } from './keys.ts'

const days = 24 * 60 * 60 * 1000

/** A new invitation. Its token is only in the link, which is shown once; the database has the hash. */
export function newInvitation(now = Date.now()): Invitation & { readonly token: string } {
  const token = `inv_${randomBytes(32).toString('base64url')}`
  return { token, invitation_hash: hashKey(token), invitation_expires_at: now + 7 * days }
}

/** The token is in the fragment, which browsers send to no server, so that it is in no log. */
export const invitationUrl = (home: string | undefined, token: string): string => `${home ?? ''}/invitation#${token}`
