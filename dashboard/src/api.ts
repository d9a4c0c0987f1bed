import { type ApiError, type Operations, type Outcome, Quartermaster } from 'quartermaster/sdk'

export type * from 'quartermaster/sdk'

/** The body of an operation, for bodies that have no named type. */
export type Body<
  Module extends keyof Operations,
  Name extends keyof Operations[Module],
> = Operations[Module][Name] extends { body?: infer B } ? NonNullable<B> : never

/** An error from the platform, or a failure to reach it, with its code. */
export class Failure extends Error {
  readonly code: string
  readonly details: Record<string, unknown>
  readonly status: number | undefined

  constructor({ code, message, details }: ApiError, status?: number) {
    super(message)
    this.code = code
    this.details = details
    this.status = status
  }

  /** Validation errors by field. */
  get faults(): readonly { path: string; message: string }[] {
    const { errors } = this.details as { errors?: { path: string; message: string }[] }
    return Array.isArray(errors) ? errors : []
  }
}

export interface Session {
  readonly principal: {
    readonly kind: 'api_key' | 'user'
    readonly id: string
    readonly name: string
    readonly project_id: string | null
    readonly email: string | null
    readonly role: string | null
    /** Otherwise they sign in with a company account only. */
    readonly has_password: boolean
  }
  /** What the principal may do somewhere, so that pages hide what it may never do. The platform decides. */
  readonly permissions: readonly string[]
  readonly csrf_token: string
  readonly expires_at: string
  readonly version: string
}

let csrfToken = ''

/** The session cookie identifies the user. The CSRF token proves that the request comes from this page. */
function send(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  if (init.method !== 'GET' && csrfToken !== '') headers.set('x-quartermaster-csrf', csrfToken)
  return fetch(url, { ...init, headers, credentials: 'same-origin' })
}

export const qm = new Quartermaster({ baseUrl: '', token: null, fetch: send })

/** Whether the platform has these operations. Pages without operations are hidden. */
export const has = (module: string): boolean => module in qm

/** Returns the data of an outcome, or throws its error for queries and mutations to catch. */
export async function ask<Data>(outcome: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await outcome
  if (error) throw new Failure(error, response?.status)
  return data as Data
}

export interface Listed<Item> {
  readonly data: Item[]
  readonly total: number
}

const maxItems = 5000

/** All items of a list, page by page. For lists that people maintain by hand. */
export async function askAll<Item>(
  list: (page: { limit: number; offset: number }) => Promise<Outcome<Listed<Item>>>,
): Promise<Item[]> {
  const items: Item[] = []
  for (let offset = 0; offset < maxItems; offset += 500) {
    const { data, total } = await ask(list({ limit: 500, offset }))
    items.push(...data)
    if (data.length === 0 || items.length >= total) break
  }
  return items
}

/** A request of the sign-in pages, which are not operations. */
async function request<Data>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Data> {
  const response = await send(`/api/v1/dashboard/${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch((cause: Error) => {
    throw new Failure({ code: 'NETWORK', message: `Could not reach the platform: ${cause.message}.`, details: {} })
  })
  const answer = response.status === 204 ? null : await response.json().catch(() => null)
  if (!response.ok) {
    const unknown = {
      code: 'UNEXPECTED_ANSWER',
      message: `The platform returned HTTP ${response.status}.`,
      details: {},
    }
    throw new Failure(answer?.error ?? unknown, response.status)
  }
  return answer
}

async function session(method: 'GET' | 'POST' | 'DELETE', path = 'session', body?: unknown): Promise<Session | null> {
  const found = await request<Session | null>(method, path, body)
  csrfToken = found?.csrf_token ?? ''
  return found
}

/** The current session; null if the user is not signed in. */
export const findSession = (): Promise<Session | null> =>
  session('GET').catch((error: Failure) => {
    if (error.status === 401) return null
    throw error
  })

export interface SignInOptions {
  /** Whether there are people, who sign in with their email address. */
  readonly people: boolean
  readonly providers: readonly { readonly id: string; readonly name: string }[]
  /** What sign-in providers must allow. Null if the platform does not know its URL. */
  readonly redirect_uri: string | null
}
export const findSignInOptions = (): Promise<SignInOptions> => request('GET', 'sign-in-options')

export type SignInWith = { readonly key: string } | { readonly email: string; readonly password: string }
export const signIn = (how: SignInWith): Promise<Session | null> => session('POST', 'session', how)
export const signOut = (): Promise<Session | null> => session('DELETE')
export const signOutEverywhere = (): Promise<Session | null> => session('DELETE', 'sessions')

export interface Invited {
  readonly email: string
  readonly name: string
  readonly has_password: boolean
}
export const findInvited = (token: string): Promise<Invited> => request('POST', 'invitation', { token })
export const acceptInvitation = (body: { token: string; name: string; password: string }): Promise<Session | null> =>
  session('POST', 'invitation/accept', body)
export const changePassword = (body: { current_password: string; new_password: string }): Promise<Session | null> =>
  session('POST', 'password', body)
