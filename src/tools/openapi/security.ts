import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { SecurityRequirements, SecurityScheme } from './operation.ts'
import { followed } from './pointer.ts'

/** The ways to authenticate that the document defines, by name. */
export function readSecuritySchemes(root: JsonObject): Record<string, SecurityScheme> {
  const { components } = root
  const schemes = isObject(components) && isObject(components.securitySchemes) ? components.securitySchemes : {}
  return Object.fromEntries(
    Object.entries(schemes).flatMap(([name, one]) => {
      const scheme = followed(root, one as Json)
      return scheme ? [[name, readScheme(scheme)]] : []
    }),
  )
}

function readScheme(scheme: JsonObject): SecurityScheme {
  const about = typeof scheme.description === 'string' ? { description: scheme.description.slice(0, 500) } : {}
  const type = String(scheme.type).toLowerCase()
  if (type === 'apikey') {
    const place = ['header', 'query', 'cookie'].find((one) => one === scheme.in) as SecurityScheme['in']
    if (place && typeof scheme.name === 'string') return { kind: 'api_key', in: place, name: scheme.name, ...about }
  }
  if (type === 'http') {
    const kind = String(scheme.scheme).toLowerCase()
    if (kind === 'basic' || kind === 'bearer') return { kind, ...about }
  }
  if (type === 'oauth2') return { kind: 'oauth2', ...flowOf(scheme), ...about }
  if (type === 'openidconnect') {
    return { kind: 'oauth2', ...textAt(scheme, 'openIdConnectUrl', 'discovery_url'), ...about }
  }
  return { kind: 'unsupported', ...about }
}

/** The flow that acts for a person, if there is one. */
function flowOf({ flows }: JsonObject): Partial<SecurityScheme> {
  const all = isObject(flows) ? flows : {}
  const flow = ['authorizationCode', 'clientCredentials', 'implicit', 'password']
    .map((name) => all[name])
    .find((one) => isObject(one)) as JsonObject | undefined
  if (!flow) return {}
  return {
    ...textAt(flow, 'authorizationUrl', 'authorization_url'),
    ...textAt(flow, 'tokenUrl', 'token_url'),
    ...(isObject(flow.scopes) && { scopes: Object.keys(flow.scopes) }),
  }
}

const textAt = (from: JsonObject, field: string, name: string) =>
  typeof from[field] === 'string' ? { [name]: from[field] } : {}

/** Requirements that name schemes of the document. */
export function readRequirements(
  value: Json | undefined,
  schemes: Readonly<Record<string, SecurityScheme>>,
): SecurityRequirements {
  if (!Array.isArray(value)) return []
  return value.filter(isObject).map((one) =>
    Object.fromEntries(
      Object.entries(one)
        .filter(([name]) => Object.hasOwn(schemes, name))
        .map(([name, scopes]) => [name, Array.isArray(scopes) ? scopes.map(String) : []]),
    ),
  )
}

/** Adds schemes that are also parameters of an operation: each alternative needs them. */
export const withSchemes = (requirements: SecurityRequirements, schemes: readonly string[]): SecurityRequirements => {
  if (schemes.length === 0) return requirements
  const added = Object.fromEntries(schemes.map((scheme) => [scheme, []]))
  return requirements.length === 0 ? [added] : requirements.map((one) => ({ ...added, ...one }))
}

/** Where the credentials of a request go. */
export interface Authentication {
  readonly headers: Readonly<Record<string, string>>
  readonly query: readonly (readonly [name: string, value: string])[]
  readonly cookies: readonly (readonly [name: string, value: string])[]
}

export const noAuthentication: Authentication = { headers: {}, query: [], cookies: [] }

/**
 * Places credentials where the document wants them. They come from the tool's config, by the name of their scheme, and
 * are used for the first alternative that is complete. Without a complete one, what is there is sent.
 */
export function authenticate(
  requirements: SecurityRequirements,
  schemes: Readonly<Record<string, SecurityScheme>>,
  credentials: Readonly<Record<string, string>>,
): Authentication {
  const has = (name: string) => Object.hasOwn(credentials, name)
  const complete = requirements.find((one) => Object.keys(one).length > 0 && Object.keys(one).every(has))
  const names = complete
    ? Object.keys(complete)
    : [...new Set(requirements.flatMap((one) => Object.keys(one).filter(has)))]
  const headers: Record<string, string> = {}
  // Two schemes may name the same parameter.
  const query = new Map<string, string>()
  const cookies = new Map<string, string>()
  for (const name of names) {
    const scheme = schemes[name]
    const value = credentials[name]
    if (!scheme || value === undefined) continue
    if (scheme.kind === 'basic') headers.authorization = `Basic ${basic(value)}`
    else if (scheme.kind !== 'api_key') headers.authorization = /^\w+ \S/.test(value) ? value : `Bearer ${value}`
    else if (scheme.in === 'header') headers[(scheme.name ?? '').toLowerCase()] = value
    else if (scheme.in === 'query') query.set(scheme.name ?? '', value)
    else cookies.set(scheme.name ?? '', value)
  }
  return { headers, query: [...query], cookies: [...cookies] }
}

/** `user:password` is encoded. Anything else is taken as encoded already. */
const basic = (value: string): string => (value.includes(':') ? Buffer.from(value).toString('base64') : value)
