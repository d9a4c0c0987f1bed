import type { OAuthClient, OAuthContext, RegisterRequest } from './types.ts'

/** Chooses our client at an authorization server: pre-registered, metadata document, dynamic registration, in this order. */
export async function register(_request: RegisterRequest, _context: OAuthContext): Promise<OAuthClient> {
  throw new Error('Not implemented yet')
}
