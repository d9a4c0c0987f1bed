import type {
  AssertionRequest,
  ClientCredentialsRequest,
  EnterpriseRequest,
  OAuthContext,
  RefreshRequest,
  TokenExchangeRequest,
  Tokens,
} from './types.ts'

export async function refresh(_request: RefreshRequest, _context: OAuthContext): Promise<Tokens> {
  throw new Error('Not implemented yet')
}

export async function clientCredentials(_request: ClientCredentialsRequest, _context: OAuthContext): Promise<Tokens> {
  throw new Error('Not implemented yet')
}

export async function exchangeToken(_request: TokenExchangeRequest, _context: OAuthContext): Promise<Tokens> {
  throw new Error('Not implemented yet')
}

export async function exchangeAssertion(_request: AssertionRequest, _context: OAuthContext): Promise<Tokens> {
  throw new Error('Not implemented yet')
}

/** Token exchange at the identity provider, then the assertion at the authorization server. */
export async function enterpriseAuthorization(_request: EnterpriseRequest, _context: OAuthContext): Promise<Tokens> {
  throw new Error('Not implemented yet')
}
