import type { DiscoverRequest, Discovery, OAuthContext } from './types.ts'

/** Finds the authorization server of a protected server, and checks that both agree on who they are. */
export async function discover(_request: DiscoverRequest, _context: OAuthContext): Promise<Discovery> {
  throw new Error('Not implemented yet')
}
