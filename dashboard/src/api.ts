import { type ApiError, type Operations, type Outcome, Quartermaster } from 'quartermaster/sdk'

export type { Operations } from 'quartermaster/sdk'

/** What an operation answers, by its module and name. */
export type Answer<
  Module extends keyof Operations,
  Name extends keyof Operations[Module],
> = Operations[Module][Name] extends { answer: infer A } ? A : never
export type Body<
  Module extends keyof Operations,
  Name extends keyof Operations[Module],
> = Operations[Module][Name] extends { body?: infer B } ? NonNullable<B> : never

export type Tool = Answer<'tools', 'getTool'>
export type Action = Answer<'tools', 'listToolActions'>['data'][number]
export type Server = Answer<'servers', 'getServer'>
export type Skill = Answer<'skills', 'getSkill'>
export type Call = Answer<'calls', 'getCall'>
export type CallSummary = Answer<'calls', 'listCalls'>['data'][number]
export type Approval = Answer<'approvals', 'getApproval'>
export type ApprovalSummary = Answer<'approvals', 'listApprovals'>['data'][number]
export type ApprovalRule = Answer<'approvalRules', 'getApprovalRule'>
export type Webhook = Answer<'webhooks', 'getWebhook'>
export type Delivery = Answer<'webhooks', 'listWebhookDeliveries'>['data'][number]
export type ApiKey = Answer<'apiKeys', 'getApiKey'>
export type AccessPolicy = Answer<'accessPolicies', 'getAccessPolicy'>
export type Project = Answer<'projects', 'getProject'>

/** Something that the platform, or the way to it, refused: in words, with its code. */
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

  /** What was wrong with which field, where the platform said so. */
  get faults(): readonly { path: string; message: string }[] {
    const { errors } = this.details as { errors?: { path: string; message: string }[] }
    return Array.isArray(errors) ? errors : []
  }
}

export interface Session {
  readonly key: { readonly id: string; readonly name: string; readonly project_id: string | null }
  readonly csrf_token: string
  readonly expires_at: string
  readonly version: string
}

let csrfToken = ''

/** A cookie says who we are; a token that only our own pages know says that it is us who ask. */
function send(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  if (init.method !== 'GET' && csrfToken !== '') headers.set('x-quartermaster-csrf', csrfToken)
  return fetch(url, { ...init, headers, credentials: 'same-origin' })
}

export const qm = new Quartermaster({ baseUrl: '', token: null, fetch: send })

/** Whether the platform has these operations: pages for parts that it does not have stay out of sight. */
export const has = (module: string): boolean => module in qm

/** The data of an outcome; what went wrong is thrown, for queries and mutations to catch. */
export async function ask<Data>(outcome: Promise<Outcome<Data>>): Promise<Data> {
  const { data, error, response } = await outcome
  if (error) throw new Failure(error, response?.status)
  return data as Data
}

export interface Listed<Item> {
  readonly data: Item[]
  readonly total: number
}

const most = 5000

/** Every item of a list, page after page: for lists that people keep by hand. */
export async function askAll<Item>(
  list: (page: { limit: number; offset: number }) => Promise<Outcome<Listed<Item>>>,
): Promise<Item[]> {
  const items: Item[] = []
  for (let offset = 0; offset < most; offset += 500) {
    const { data, total } = await ask(list({ limit: 500, offset }))
    items.push(...data)
    if (data.length === 0 || items.length >= total) break
  }
  return items
}

async function session(method: 'GET' | 'POST' | 'DELETE', body?: unknown): Promise<Session | null> {
  const response = await send('/api/v1/dashboard/session', {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch((cause: Error) => {
    throw new Failure({ code: 'NETWORK', message: `The platform could not be reached: ${cause.message}.`, details: {} })
  })
  const answer = response.status === 204 ? null : await response.json().catch(() => null)
  if (!response.ok) {
    const unknown = { code: 'UNEXPECTED_ANSWER', message: `The platform answered ${response.status}.`, details: {} }
    throw new Failure(answer?.error ?? unknown, response.status)
  }
  csrfToken = answer?.csrf_token ?? ''
  return answer
}

/** Null where nobody is signed in. */
export const findSession = (): Promise<Session | null> =>
  session('GET').catch((error: Failure) => {
    if (error.status === 401) return null
    throw error
  })
export const signIn = (key: string): Promise<Session | null> => session('POST', { key })
export const signOut = (): Promise<Session | null> => session('DELETE')
