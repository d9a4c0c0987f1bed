/** The endpoints of the authorization server. */
export const routes = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks',
}

/** Our pages: sign in, allow. */
export const interactionPath = '/oauth/interaction'

export const metadataPaths = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']
