import type { McpAddress } from '../model/tool.ts'
import type { ToolRecord } from '../store/tools.ts'
import { Redactor } from './redactor.ts'

type Holder = Pick<ToolRecord, 'execute' | 'mcp'>

const known = new WeakMap<object, Redactor>()

/** Takes a tool's own credentials out of what its callers are told; made once for each record. */
export function redactorOf(tool: Holder): Redactor {
  let redactor = known.get(tool)
  if (!redactor) {
    redactor = new Redactor(secretsOf(tool))
    known.set(tool, redactor)
  }
  return redactor
}

/** What a tool proves with who it is. */
export const secretsOf = ({ execute, mcp }: Holder): string[] => [
  ...secretsIn(execute?.headers),
  ...secretsInUrl(execute?.url),
  ...(mcp ? secretsAt(mcp) : []),
]

/** What an MCP server is shown to prove who we are. */
export const secretsAt = ({ headers, env, url, args }: McpAddress): string[] => [
  ...secretsIn(headers),
  ...secretsIn(env),
  ...secretsInUrl(url),
  ...secretsInArgs(args ?? []),
]

/** Headers that everyone may see, whatever their values look like. */
const harmless = /^(accept|content|cache|if|user-agent|host|origin|referer|range|date|mcp-protocol)\b/i
const secretName = /auth|token|secret|passw|passphrase|key|cookie|credential|session|signature|sig$|pwd|appid/i
/** Long, in one piece, of letters and digits, and neither an address nor a path: what nobody writes by hand. */
const secretValue = /^(?!\w+:\/\/|\/)(?=\S*\d)(?=\S*[A-Za-z])\S{16,}$/

/** Values of headers, variables or query parameters that are secrets, by their name or by their looks. */
export const secretsIn = (values: Readonly<Record<string, string>> | undefined): string[] =>
  Object.entries(values ?? {}).flatMap(([name, value]) => {
    if (harmless.test(name) || value.includes('${{')) return []
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return secretsInUrl(value)
    const [, scheme = '', bare = ''] = /^(\w+\s+)?(.*)$/s.exec(value) ?? []
    if (!secretName.test(name) && !secretValue.test(bare)) return []
    return scheme === '' ? [value] : [value, bare, ...userAndPassword(scheme, bare)]
  })

/** Basic authentication is only encoded, so a service may echo what is in it. */
function userAndPassword(scheme: string, bare: string): string[] {
  if (scheme.trim().toLowerCase() !== 'basic') return []
  const decoded = Buffer.from(bare, 'base64').toString()
  const colon = decoded.indexOf(':')
  return colon < 0 ? [] : [decoded, decoded.slice(colon + 1)]
}

/** The password and the query of an address; a value that an argument fills is the caller's own. */
export function secretsInUrl(url = ''): string[] {
  const [, password = ''] = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]*?:([^/?#@]*)@/i.exec(url) ?? []
  const query = /\?([^#]*)/.exec(url)?.[1] ?? ''
  const fixed = [...new URLSearchParams(query)].filter(([, value]) => !placeholder.test(value))
  return [...(password === '' ? [] : [password, decoded(password)]), ...secretsIn(Object.fromEntries(fixed))]
}

/** `--api-key=…`, `--api-key …`, `API_KEY=…`, an address with a password, or a word that looks like a key. */
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

/** An address for people who may not change it: without its password and the values of its query. */
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

/** What stands for a value that is only shown to those who may change it. */
export const masked = '[hidden]'
