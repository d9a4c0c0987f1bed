import { z } from 'zod'
import type { Authenticator } from '../access/authenticator.ts'
import { discover, finishOidc, type OidcClient, type OidcServer, startOidc } from '../access/oidc.ts'
import { personOf } from '../access/sso-person.ts'
import type { Outbound } from '../http/outbound.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { SignInProvider } from '../model/sign-in-provider.ts'
import { sealedAt } from '../store/sealed.ts'
import type { Store } from '../store/store.ts'
import type { Vault } from './vault.ts'

/** How long a person has to sign in at the provider. */
export const flowSeconds = 10 * 60
const metadataMs = 10 * 60 * 1000
const place = 'cookies/sign-in-flow'

export const singleSignOnPath = '/api/v1/dashboard/sso'

/** Where providers send the browser back to. They allow only URLs that were registered with them. */
export const redirectUriAt = (home: string | undefined): string | undefined =>
  home === undefined ? undefined : `${home}${singleSignOnPath}/callback`

const Flow = z.object({
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  redirectUri: z.string(),
  /** The page to go to afterwards. */
  returnTo: z.string(),
  expiresAt: z.number(),
})

export interface SingleSignOnDeps {
  readonly store: Store
  readonly vault: Vault
  readonly outbound: Outbound
  readonly authenticator: Authenticator
}

/**
 * Sign-in with a company account. A sign-in in progress is stored in a cookie of the browser that began it, encrypted, and
 * nowhere else: no other browser can finish it, and nobody can fill a table with sign-ins that never end.
 */
export class SingleSignOn {
  readonly #deps: SingleSignOnDeps
  /** By issuer. */
  readonly #servers = new Map<string, { readonly server: Promise<OidcServer>; readonly until: number }>()

  constructor(deps: SingleSignOnDeps) {
    this.#deps = deps
  }

  /** Returns the provider's URL, and the value of the cookie. */
  async start(providerId: string, redirectUri: string, returnTo: string): Promise<{ url: URL; cookie: string }> {
    const provider = await this.#enabled(providerId)
    const client = await this.#client(provider)
    const { url, flow } = await startOidc(client, await this.#server(client), redirectUri)
    const text = JSON.stringify({
      ...flow,
      provider: provider.id,
      returnTo,
      expiresAt: Date.now() + flowSeconds * 1000,
    })
    return { url, cookie: await this.#deps.vault.seal(text, place) }
  }

  /** `parameters` is the query that the provider sent the browser back with. */
  async finish(
    cookie: string | undefined,
    parameters: URLSearchParams,
  ): Promise<{ principal: Principal; returnTo: string }> {
    const { provider: id, returnTo, ...flow } = this.#open(cookie)
    const provider = await this.#enabled(id)
    const client = await this.#client(provider)
    const account = await finishOidc(client, await this.#server(client), flow, parameters)
    return { principal: await personOf(account, provider, this.#deps), returnTo }
  }

  /** Whether the provider can be reached and describes itself properly. */
  async test(provider: SignInProvider): Promise<{ authorization_endpoint: string }> {
    const { authorization_endpoint } = await discover(await this.#client(provider))
    return { authorization_endpoint: authorization_endpoint as string }
  }

  /** Cached for a while, because anyone can start a sign-in: it must not become a request to the provider each time. */
  #server(client: OidcClient, now = Date.now()): Promise<OidcServer> {
    const known = this.#servers.get(client.issuer)
    if (known && known.until > now) return known.server
    const server = discover(client)
    this.#servers.set(client.issuer, { server, until: now + metadataMs })
    server.catch(() => this.#servers.delete(client.issuer))
    return server
  }

  #open(cookie: string | undefined): z.infer<typeof Flow> {
    const ended = new PlatformError('SIGN_IN_REFUSED', { reason: 'expired' })
    if (cookie === undefined) throw ended
    let text: string
    try {
      text = this.#deps.vault.open(cookie, place)
    } catch {
      throw ended
    }
    const flow = Flow.parse(JSON.parse(text))
    if (flow.expiresAt <= Date.now()) throw ended
    return flow
  }

  async #enabled(id: string): Promise<SignInProvider> {
    const provider = await this.#deps.store.signInProviders.find(id)
    if (!provider?.enabled) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'sign-in-provider', id })
    return provider
  }

  async #client({ id, name, issuer, client_id }: SignInProvider): Promise<OidcClient> {
    const { store, vault, outbound } = this.#deps
    const sealed = await store.signInProviders.sealedSecret(id)
    const clientSecret = sealed === null ? null : vault.open(sealed, sealedAt.signInProviderSecret(id))
    const { fetch } = outbound.client({ project: undefined, credentials: [id] })
    return { name, issuer, clientId: client_id, clientSecret, fetch }
  }
}
