import { isHarmlessName, isSecretName } from './names.ts'

type Values = Readonly<Record<string, string>> | undefined

/** The credentials in the configuration of an MCP server. */
export const secretsAt = ({ headers, env, url, args }: Address): string[] => [
  ...secretsIn(headers),
  ...secretsIn(env),
  ...secretsInUrl(url),
  ...secretsInArgs(args ?? []),
]

interface Address {
  readonly headers?: Values
  readonly env?: Values
  readonly url?: string | undefined
  readonly args?: readonly string[] | undefined
}

/** Looks like a generated key: long, no whitespace, letters and digits, and neither a URL nor a path. */
const secretValue = /^(?!\w+:\/\/|\/)(?=\S*\d)(?=\S*[A-Za-z])\S{16,}$/

/** `${input:token}` or `${TOKEN}`, which an imported file left to be filled in. */
const isUnfilled = /^\$\{[^{}]*\}$/

/** Values of headers, variables or query parameters whose name or format suggests a secret. */
export const secretsIn = (values: Values): string[] =>
  Object.entries(values ?? {}).flatMap(([name, value]) => {
    if (isHarmlessName(name) || value.includes('${{')) return []
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return secretsInUrl(value)
    const [, scheme = '', bare = ''] = /^(\w+\s+)?(.*)$/s.exec(value) ?? []
    if (isUnfilled.test(bare) || (!isSecretName(name) && !secretValue.test(bare))) return []
    return scheme === '' ? [value] : [value, bare, ...userAndPassword(scheme, bare)]
  })

/** Basic authentication is only encoded, so a service may echo the decoded user and password. */
function userAndPassword(scheme: string, bare: string): string[] {
  if (scheme.trim().toLowerCase() !== 'basic') return []
  const decoded = Buffer.from(bare, 'base64').toString()
  const colon = decoded.indexOf(':')
  return colon < 0 ? [] : [decoded, decoded.slice(colon + 1)]
}

/** Secrets in the password and the query of a URL. Placeholders are skipped, because callers supply their values. */
export function secretsInUrl(url = ''): string[] {
  const [, password = ''] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]*?:([^/?#@]*)@/i.exec(url) ?? []
  const query = /\?([^#]*)/.exec(url)?.[1] ?? ''
  const fixed = [...new URLSearchParams(query)].filter(([, value]) => !placeholder.test(value))
  return [...(password === '' ? [] : [password, decoded(password)]), ...secretsIn(Object.fromEntries(fixed))]
}

/** `--api-key=…`, `--api-key …`, `API_KEY=…`, a URL with a password, or an argument that looks like a key. */
const secretsInArgs = (args: readonly string[]): string[] =>
  args.flatMap((arg, index) => {
    const [, name, value] = /^-{0,2}([\w.-]+)=(.*)$/s.exec(arg) ?? []
    if (name !== undefined && value !== undefined) return secretsIn({ [name]: value })
    const before = /^--?([\w.-]+)$/.exec(args[index - 1] ?? '')?.[1]
    return arg.startsWith('-') ? [] : secretsIn({ [before ?? 'arg']: arg })
  })

const placeholder = /\{[A-Za-z0-9_.-]+\}/

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Masks the credentials and query values of a URL, for people who cannot edit it. */
export function maskedUrl(url: string): string {
  const [, before = '', query, hash = ''] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(url) ?? []
  const bare = before.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, `$1${masked}@`)
  if (query === undefined) return `${bare}${hash}`
  const pairs = query.split('&').map((pair) => {
    const cut = pair.indexOf('=')
    return cut < 0 || isPlaceholder(pair.slice(cut + 1)) ? pair : `${pair.slice(0, cut)}=${masked}`
  })
  return `${bare}?${pairs.join('&')}${hash}`
}

const isPlaceholder = (value: string) => /^\{[A-Za-z0-9_.-]+\}$/.test(value)

/** The placeholder for a value that is not shown. A client that sends it back keeps the value. */
export const masked = '[hidden]'

/** For the descriptions of fields that can contain credentials. */
export const aboutCredentials = `Reference a secret as \${{ secrets.NAME }}. Credentials are encrypted and shown as ${masked}; leave ${masked} to keep one`

/** Masks the values of headers and variables, for people who cannot edit them. Keeps the names. */
export const maskedValues = ({ headers, env }: { readonly headers?: Values; readonly env?: Values }) => ({
  ...(headers && { headers: mask(headers) }),
  ...(env && { env: mask(env) }),
})

const mask = (values: NonNullable<Values>) => Object.fromEntries(Object.keys(values).map((name) => [name, masked]))
