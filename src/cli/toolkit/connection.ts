import { version } from '../../home.ts'
import { escaped } from '../../lib/escaped.ts'
import { Quartermaster } from '../../sdk/index.ts'
import type { ApiError, Outcome } from '../../sdk/outcome.ts'
import type { Connection } from '../../sdk/send.ts'
import { type Command, exit, UsageError } from './command.ts'
import type { Given } from './flags.ts'
import { findProfile } from './profiles.ts'
import { harmless } from './terminal.ts'

export const defaultUrl = 'http://127.0.0.1:4600'

/** Whoever uses the command line has a key. */
export type KeyConnection = Connection & { readonly token: string }

/** Flags come first, then the environment, the profile, and a platform on this machine. */
export async function connectionOf({ fields }: Pick<Command, 'fields'>, given: Given): Promise<KeyConnection> {
  // A field of the same name has the flag; then the environment is left to say it.
  const common = (name: string) => (fields.some((field) => field.name === name) ? undefined : given.get(name)?.[0])
  const named = common('profile') ?? (process.env.QM_PROFILE || undefined)
  const stated = {
    url: common('url') ?? (process.env.QM_URL || undefined),
    key: common('key') ?? (process.env.QM_KEY || undefined),
  }
  const needsProfile = named !== undefined || !stated.url || !stated.key
  const profile = needsProfile ? await findProfile(named) : undefined
  // A flag or variable for the one must not send the profile's key to another address by surprise.
  const baseUrl = checkedUrl(stated.url ?? profile?.url ?? defaultUrl)
  const saved = profile && (stated.url === undefined || sameOrigin(stated.url, profile.url)) ? profile.key : undefined
  const token = (stated.key ?? saved ?? '').trim()
  if (token === '') {
    throw new UsageError('An API key is needed: give it with --key or QM_KEY. "quartermaster login" saves one.')
  }
  return withHeaders({ baseUrl, token: checkedKey(token) })
}

export function checkedUrl(url: string): string {
  if (/^https?:\/\/[^/]/.test(url) && URL.canParse(url)) return url
  throw new UsageError(`--url or QM_URL must be an address like ${defaultUrl}.`)
}

export function checkedKey(key: string): string {
  // fetch would refuse it in words that repeat the key.
  if (/^[\x21-\x7e]+$/.test(key)) return key
  throw new UsageError('The API key has a character that no key has.')
}

const sameOrigin = (one: string, other: string) => URL.parse(one)?.origin === URL.parse(other)?.origin

/** The record of calls says that they came from here. */
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

/** The platform answered, but not what was asked for; or it did not answer. */
export class Refused extends Error {
  readonly error: Pick<ApiError, 'code' | 'message'> & { readonly details?: ApiError['details'] }
  readonly baseUrl: string | undefined

  constructor(error: Refused['error'], baseUrl?: string) {
    super(error.message)
    this.error = error
    this.baseUrl = baseUrl
  }
}

/** What was asked for, or `Refused` is thrown. */
export function got<Data>({ data, error }: Outcome<Data>): Data {
  if (error) throw new Refused(error)
  return data as Data
}

export interface Session {
  readonly connection: KeyConnection
  readonly qm: Quartermaster
}

/** A platform to ask, as the flags, the environment or a profile say. */
export async function openSession(given: Given): Promise<Session> {
  const connection = await connectionOf({ fields: [] }, given)
  return { connection, qm: new Quartermaster(connection) }
}

const longestExcerpt = 2000

/** The beginning of what someone else answered, with control characters spelled out. */
function excerpt(body: unknown): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const rest = text.length - longestExcerpt
  return `${escaped(text.slice(0, longestExcerpt)).trim()}${rest > 0 ? ` … (${rest} more characters)` : ''}`
}

/** Prints what went wrong; the exit code. */
export function report({ code, message, details }: Refused['error'], baseUrl: string | undefined): number {
  console.error(`quartermaster: ${code}: ${harmless(message)}`)
  const body = details?.tool_response_body
  if (body !== undefined) console.error(`The tool's address said: ${excerpt(body)}`)
  if (code !== 'NETWORK') return exit.refused
  const where = baseUrl ? ` at ${new URL(baseUrl).origin}` : ''
  console.error(`Is it running${where}?`, '"quartermaster up" starts it; --url or QM_URL names another.')
  return exit.unreachable
}
