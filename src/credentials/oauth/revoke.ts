import type { OAuthContext, RevokeRequest } from './types.ts'

/** Revokes at the authorization server. `unsupported` if it has no way to: the user must remove access in the app. */
export async function revoke(_request: RevokeRequest, _context: OAuthContext): Promise<'revoked' | 'unsupported'> {
  throw new Error('Not implemented yet')
}
