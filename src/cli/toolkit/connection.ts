import { version } from '../../home.ts'
import { escaped } from '../../lib/escaped.ts'
import { Quartermaster } from '../../sdk/index.ts'
import type { ApiError, Outcome } from '../../sdk/outcome.ts'
import type { Connection } from '../../sdk/send.ts'
import { exit, type FlagValues, UsageError } from './command.ts'
import { io, note } from './io.ts'
import { findProfile } from './profiles.ts'
import { withCommands } from './routes.ts'
import { harmless } from './terminal.ts'

export const defaultUrl = 'http://127.0.0.1:4600'

export type KeyConnection = Connection & { readonly token: string }

/** The address and the key, from flags, the environment or a profile, in this order of precedence. */
export async function connectionOf(given: FlagValues): Promise<KeyConnection> {
  const { env } = io()
  const named = given.get('profile')?.[0] ?? (env.QM_PROFILE || undefined)
  const explicit = {
    url: given.get('url')?.[0] ?? (env.QM_URL || undefined),
    key: given.get('key')?.[0] ?? (env.QM_KEY || undefined),
  }
  const needsProfile = named !== undefined || !explicit.url || !explicit.key
  const profile = needsProfile ? await findProfile(named) : undefined
  const baseUrl = checkedUrl(explicit.url ?? profile?.url ?? defaultUrl)
  // The key of a profile is sent to the address of that profile only.
  const saved =
    profile && (explicit.url === undefined || sameOrigin(explicit.url, profile.url)) ? profile.key : undefined
  const token = (explicit.key ?? saved ?? '').trim()
  if (token === '') {
    throw new UsageError('No API key. Pass --key, set QM_KEY, or save one with "quartermaster login".')
  }
  const source = given.has('key') ? '--key' : explicit.key ? 'QM_KEY' : 'The saved key'
  return withHeaders({ baseUrl, token: checkedKey(token, source) })
}

export function checkedUrl(url: string): string {
  if (/^https?:\/\/[^/]/.test(url) && URL.canParse(url)) return url
  throw new UsageError(`--url or QM_URL must be a URL like ${defaultUrl}.`)
}

const isPlaceholder = (key: string): boolean => /^sk_(…|\.+)/.test(key)

export function checkedKey(key: string, source: string): string {
  if (isPlaceholder(key)) {
    throw new UsageError(
      `${source} is still the placeholder sk_… from the guide. Use the key that the first start printed.`,
    )
  }
  // fetch would throw an error that contains the key.
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new UsageError('The API key contains an invalid character.')
}

const sameOrigin = (one: string, other: string) => URL.parse(one)?.origin === URL.parse(other)?.origin

/** Sends headers that mark requests as coming from the CLI, for the call log. */
export const withHeaders = ({ baseUrl, token }: Pick<KeyConnection, 'baseUrl' | 'token'>): KeyConnection => ({
  baseUrl,
  token,
  fetch(url, init) {
    const headers = new Headers(init.headers)
    headers.set('user-agent', `quartermaster-cli/${version}`)
    headers.set('x-quartermaster-surface', 'cli')
    return fetch(url, { ...init, headers })
  },
})

/** The platform returned an error, or did not respond. */
export class Refused extends Error {
  readonly error: Pick<ApiError, 'code' | 'message'> & { readonly details?: ApiError['details'] }
  readonly baseUrl: string | undefined

  constructor(error: Refused['error'], baseUrl?: string) {
    super(error.message)
    this.error = error
    this.baseUrl = baseUrl
  }
}

/** The data of a successful outcome; otherwise throws `Refused`. */
export function got<Data>({ data, error }: Outcome<Data>): Data {
  if (error) throw new Refused(error)
  return data as Data
}

export interface Session {
  readonly connection: KeyConnection
  readonly qm: Quartermaster
}

/** A client for the platform that is set by the flags, the environment or a profile. */
export async function openSession(given: FlagValues): Promise<Session> {
  const connection = await connectionOf(given)
  return { connection, qm: new Quartermaster(connection) }
}

const longestExcerpt = 2000

/** The beginning of a remote response, with control characters escaped. */
function excerpt(body: unknown): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const rest = text.length - longestExcerpt
  return `${escaped(text.slice(0, longestExcerpt)).trim()}${rest > 0 ? ` … (${rest} more characters)` : ''}`
}

/** Prints an error. Returns the exit code. */
export function report({ code, message, details }: Refused['error'], baseUrl: string | undefined): number {
  note(`quartermaster: ${code}: ${harmless(withCommands(message))}`)
  const body = details?.tool_response_body
  if (body !== undefined) note(`Response of the tool's URL: ${excerpt(body)}`)
  if (code !== 'NETWORK') return exit.refused
  const where = baseUrl ? ` at ${new URL(baseUrl).origin}` : ''
  note(`Is it running${where}? Start it with "quartermaster up", or set another address with --url or QM_URL.`)
  return exit.unreachable
}
