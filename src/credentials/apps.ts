import type { AuthorizationServer, OAuthClient } from './oauth/types.ts'

/** The OAuth endpoints of a well-known app. Client id and secret are always the operator's. */
export interface App {
  readonly slug: string
  readonly name: string
  /** Requested if the operator chooses no others. */
  readonly scopes: readonly string[]
  readonly server: AuthorizationServer
  readonly authMethod: OAuthClient['authMethod']
  /** Parts of the URLs that the operator must fill in, such as `subdomain`. See `fillApp`. */
  readonly placeholders: readonly string[]
  /** Where the operator registers a client. */
  readonly console?: string
  /** Checked against the vendor's documentation, as opposed to taken from a public list. */
  readonly curated: boolean
}

export function findApp(_slug: string): App | undefined {
  throw new Error('Not implemented yet')
}

export function listApps(): readonly App[] {
  throw new Error('Not implemented yet')
}

/** The app with the placeholders of its URLs filled in. */
export function fillApp(_app: App, _values: Readonly<Record<string, string>>): App {
  throw new Error('Not implemented yet')
}
