import type { AuthorizationRequest, AuthorizationReturn, OAuthContext, StartedAuthorization, Tokens } from './types.ts'

export function hashState(_state: string): string {
  throw new Error('Not implemented yet')
}

export async function startAuthorization(_request: AuthorizationRequest): Promise<StartedAuthorization> {
  throw new Error('Not implemented yet')
}

/** Checks the callback's parameters, then exchanges the code. Nothing is sent anywhere if `state` or `iss` is wrong. */
export async function finishAuthorization(_request: AuthorizationReturn, _context: OAuthContext): Promise<Tokens> {
  throw new Error('Not implemented yet')
}
