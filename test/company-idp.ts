import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CompanyAccount {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
}

/** A company's OpenID Connect provider (`oidc-provider`), on another host name than the platform: another site. */
export interface CompanyIdp extends AsyncDisposable {
  readonly issuer: string
  readonly client: { readonly client_id: string; readonly client_secret: string }
  /** The key that signs ID tokens. */
  readonly signingKey: KeyObject
  /** By login name. People sign in with any password. */
  readonly accounts: Map<string, CompanyAccount>
  /** Changes responses before they are sent, to attack the platform. */
  tamper: ((path: string, body: string) => string | Promise<string>) | undefined
  /** The paths of all requests. */
  readonly requests: string[]
}

interface Provider {
  callback(): RequestListener
}
type ProviderClass = new (issuer: string, configuration: object) => Provider

export async function startCompanyIdp(redirectUri: string): Promise<CompanyIdp> {
  // The package has no types.
  const { Provider } = (await import('oidc-provider' as string)) as { Provider: ProviderClass }
  const accounts = new Map<string, CompanyAccount>()
  const client = { client_id: 'quartermaster', client_secret: 'company-client-secret-0123456789' }
  const { privateKey: signingKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const requests: string[] = []
  let listener: RequestListener = () => {}
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] as string
    requests.push(path)
    const { tamper } = idp
    if (tamper && request.method !== 'OPTIONS' && !path.startsWith('/interaction')) tamperWith(response, path, tamper)
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`
  const provider = quietly(
    () =>
      new Provider(issuer, {
        clients: [{ ...client, redirect_uris: [redirectUri], grant_types: ['authorization_code'] }],
        cookies: { keys: ['of a test'] },
        jwks: { keys: [{ ...signingKey.export({ format: 'jwk' }), kid: 'of-a-test', use: 'sig', alg: 'RS256' }] },
        ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
        claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
        pkce: { required: () => true },
        findAccount: (_: unknown, login: string) => {
          const account = accounts.get(login)
          return account && { accountId: login, claims: () => account }
        },
      }),
  )
  listener = provider.callback()
  const idp: CompanyIdp = {
    ...{ issuer, client, signingKey, accounts, requests, tamper: undefined },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return idp
}

/** The provider warns that its default settings are not for production. */
function quietly<T>(make: () => T): T {
  const { warn, info } = console
  Object.assign(console, { warn: () => {}, info: () => {} })
  try {
    return make()
  } finally {
    Object.assign(console, { warn, info })
  }
}

type Response = Parameters<RequestListener>[1]

/** Replaces the body when the response ends. */
function tamperWith(response: Response, path: string, change: NonNullable<CompanyIdp['tamper']>): void {
  const end = response.end.bind(response)
  response.end = ((body?: string | Buffer) => {
    void Promise.resolve(change(path, String(body ?? ''))).then((text) => {
      if (!response.headersSent) response.setHeader('content-length', Buffer.byteLength(text))
      end(text)
    })
    return response
  }) as typeof response.end
}
