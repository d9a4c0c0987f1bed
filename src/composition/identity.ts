import { apiKeyAuthenticator, combined } from '../access/authenticator.ts'
import { DashboardSessions } from '../access/dashboard-sessions.ts'
import { ExternalTokens } from '../access/external-tokens.ts'
import { Keys } from '../access/keys.ts'
import { People } from '../access/people.ts'
import { SignInAttempts } from '../access/sign-in-attempts.ts'
import { Tokens, tokenAuthenticator } from '../access/tokens.ts'
import { OauthServerKeys } from '../credentials/oauth-server-keys.ts'
import { SingleSignOn } from '../credentials/single-sign-on.ts'
import { resourceAt } from '../surfaces/oauth/resources.ts'
import type { Base } from './base.ts'

export type Identity = ReturnType<typeof createIdentity>

/** Who a request comes from: API keys, people, tokens of the built-in authorization server, tokens of trusted issuers. */
export function createIdentity({ config, store, vault, outbound, publicUrl }: Base) {
  const oauthKeys = new OauthServerKeys(store.oauthKeys, vault, store.changes)
  const apiKeys = apiKeyAuthenticator(new Keys(store), store.changes)
  const people = new People(store)
  /** Those that a token can act for. */
  const holders = combined([people, apiKeys])
  const external = new ExternalTokens({
    store,
    fetchFor: (project) => outbound.client({ project, credentials: ['trusted issuers'] }).fetch,
    projectAt: async (url) => {
      const server = resourceAt(url, publicUrl)?.server
      return server === undefined ? undefined : (await store.servers.find(server))?.project_id
    },
  })
  const issuer = { issuer: () => publicUrl.href, keys: () => oauthKeys.verifying() }
  const tokens = new Tokens({ store, issuer, holders, external })
  const authenticator = combined([
    ...(config.oauth ? [tokenAuthenticator(tokens, holders, store.changes)] : []),
    people,
    apiKeys,
  ])
  return {
    ...{ authenticator, holders, oauthKeys },
    singleSignOn: new SingleSignOn({ store, vault, outbound, authenticator }),
    sessions: new DashboardSessions(store, authenticator),
    signIn: { store, authenticator, attempts: new SignInAttempts() },
  }
}
