import publicList from 'grant/config/oauth.json' with { type: 'json' }
import { type AppPreset, appPresets } from './app-presets.ts'
import { Misconfigured } from './oauth/errors.ts'
import type { AuthMethod, AuthorizationServer } from './oauth/types.ts'

/** The OAuth endpoints of a well-known app. Client id and secret are always the operator's. */
export interface App {
  readonly slug: string
  readonly name: string
  /** Requested if the operator chooses no others. */
  readonly scopes: readonly string[]
  readonly server: AuthorizationServer
  readonly authMethod: AuthMethod
  /** Parts of the URLs that the operator must fill in, such as `subdomain`. See `fillApp`. */
  readonly placeholders: readonly string[]
  /** Where the operator registers a client. */
  readonly console?: string
  /** Maintained here. Others come from a public list, which has URLs only, some of them outdated. */
  readonly curated: boolean
}

export const findApp = (slug: string): App | undefined => apps().get(slug)

/** Curated apps come first. */
export const listApps = (): readonly App[] => [...apps().values()]

let known: ReadonlyMap<string, App> | undefined

function apps(): ReadonlyMap<string, App> {
  known ??= new Map(
    [
      ...Object.entries(appPresets).map(([slug, preset]) => toApp(slug, preset, true)),
      ...fromPublicList().map(([slug, preset]) => toApp(slug, preset, false)),
    ].map((app) => [app.slug, app]),
  )
  return known
}

interface PublicEntry {
  readonly oauth: number
  readonly authorize_url: string
  readonly access_url: string
  readonly scope_delimiter?: string
}

/** Curated under another name. */
const replaced = new Set(['twitter2'])

function fromPublicList(): readonly (readonly [string, AppPreset])[] {
  const entries: readonly (readonly [string, PublicEntry])[] = Object.entries(publicList)
  return entries
    .filter(([slug, { oauth }]) => oauth === 2 && !Object.hasOwn(appPresets, slug) && !replaced.has(slug))
    .map(([slug, entry]) => [
      slug,
      {
        name: slug.charAt(0).toUpperCase() + slug.slice(1),
        authorize: withBraces(entry.authorize_url),
        token: withBraces(entry.access_url),
        // The default of the list is a comma.
        quirks: { scopeDelimiter: entry.scope_delimiter ?? ',' },
      },
    ])
}

const withBraces = (url: string) => url.replace(/\[(\w+)\]/g, '{$1}')

function toApp(slug: string, preset: AppPreset, curated: boolean): App {
  const { name, authorize, token, revoke, scopes = [], pkce, authMethod = 'client_secret_post', quirks } = preset
  return {
    slug,
    name,
    scopes,
    server: {
      issuer: preset.issuer ?? originOf(token),
      authorization_endpoint: authorize,
      token_endpoint: token,
      ...(revoke && { revocation_endpoint: revoke }),
      ...(pkce && { code_challenge_methods_supported: ['S256'] }),
      quirks: { ...quirks, ...(!pkce && { withoutPkce: true }), ...(!preset.issuer && { unknownIssuer: true }) },
    },
    authMethod,
    placeholders: [...new Set([...`${authorize} ${token}`.matchAll(/\{(\w+)\}/g)].map(([, found = '']) => found))],
    ...(preset.console && { console: preset.console }),
    curated,
  }
}

/** Also of URLs with placeholders, which are no valid URLs. */
const originOf = (url: string) => /^https:\/\/[^/]+/.exec(url)?.[0] ?? url

/** The app with the placeholders of its URLs filled in. */
export function fillApp(app: App, values: Readonly<Record<string, string>>): App {
  const fill = (url: string) =>
    app.placeholders.reduce((text, name) => text.replaceAll(`{${name}}`, getLabel(app, values, name)), url)
  const { issuer, authorization_endpoint = '', token_endpoint } = app.server
  const filled = {
    issuer: fill(issuer),
    authorization_endpoint: fill(authorization_endpoint),
    token_endpoint: fill(token_endpoint),
  }
  return { ...app, server: { ...app.server, ...filled }, placeholders: [] }
}

/** One label of a host name, so that the value cannot lead to another host. */
function getLabel({ name: app }: App, values: Readonly<Record<string, string>>, name: string): string {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  if (value !== undefined && /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(value)) return value
  throw new Misconfigured(`${app} needs a ${name}: letters, digits and hyphens, such as "acme" of acme.example.com.`, {
    host: app,
    code: 'invalid_app_setting',
  })
}
