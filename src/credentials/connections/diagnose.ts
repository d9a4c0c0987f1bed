import { explain, type HttpClient, type Outbound } from '../../http/outbound.ts'
import { type ConnectionStatus, isUsable } from '../../model/connection.ts'
import { PlatformError } from '../../model/errors.ts'
import { startAuthorization } from '../oauth/authorize.ts'
import type { Trace, TraceStep } from '../oauth/types.ts'
import type { Vault } from '../vault.ts'
import { ConnectionNeeded, withQuery } from './authorization.ts'
import { openConnection, type Presented } from './live.ts'
import { explained, type OAuthSetup } from './oauth-setup.ts'
import type { ConnectPlan } from './plan.ts'
import type { TokenRefresh } from './refresh.ts'

export interface DiagnoseDeps {
  readonly setup: OAuthSetup
  readonly refresh: TokenRefresh
  readonly vault: Pick<Vault, 'open'>
  readonly outbound: Pick<Outbound, 'client'>
}

const probeMs = 10_000
const hello = JSON.stringify({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'quartermaster', version: '1' } },
})

/**
 * Goes through everything that connecting an account and using it takes, and reports each step. Stops at the first step
 * without which the next ones cannot be tried. Steps contain no secrets.
 */
export async function diagnose(plan: ConnectPlan, deps: DiagnoseDeps): Promise<readonly TraceStep[]> {
  const steps: TraceStep[] = []
  const trace: Trace = (step) => void steps.push(step)
  try {
    const challenge = plan.server === undefined ? null : await probe(plan.server, undefined, plan, deps, trace)
    if (challenge === 'open' && !plan.existing) return steps
    if (plan.type.startsWith('oauth2')) await findServer(plan, challenge === 'open' ? null : challenge, deps, trace)
    const presented = await credentialsOf(plan, deps, trace)
    if (presented && plan.server !== undefined) await probe(plan.server, presented, plan, deps, trace)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    // Steps of the OAuth client have reported themselves.
    if (steps.at(-1)?.ok !== false) trace({ step: 'server_metadata', ok: false, detail: error.message })
  }
  return steps
}

/** Sends the first request of an MCP client. Returns the challenge of the server, or that it needs no credentials. */
async function probe(
  server: string,
  presented: Presented | undefined,
  { subject: { project_id: project } }: ConnectPlan,
  { outbound }: DiagnoseDeps,
  trace: Trace,
): Promise<string | null | 'open'> {
  const url = new URL(server)
  const sent = { step: 'request', method: 'POST', url: url.host + url.pathname } as const
  try {
    const http = outbound.client({ project, credentials: ['diagnosis', server, presented?.headers, presented?.query] })
    const { status, challenge } = await send(http, url, presented)
    trace({ ...sent, status, ...outcomeOf(status, challenge, presented) })
    return status < 400 ? 'open' : challenge
  } catch (error) {
    // `fetch` wraps the reason of a failure in a TypeError.
    const reason = error instanceof TypeError && error.cause !== undefined ? error.cause : error
    trace({ ...sent, ok: false, detail: explain(reason, url.host).message })
    throw new PlatformError('CONNECTION_FAILED', { reason: 'the server cannot be reached' })
  }
}

async function send({ fetch }: HttpClient, url: URL, presented: Presented | undefined) {
  const response = await fetch(withQuery(url, presented?.query ?? {}).href, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...presented?.headers,
    },
    body: hello,
    redirect: 'manual',
    signal: AbortSignal.timeout(probeMs),
  })
  await response.body?.cancel()
  return { status: response.status, challenge: response.headers.get('www-authenticate') }
}

function outcomeOf(status: number, challenge: string | null, presented: Presented | undefined) {
  if (status < 300) {
    const detail = presented ? 'The server accepts the credentials.' : 'The server answers without credentials.'
    return { ok: true, detail }
  }
  if (presented || (status !== 401 && status !== 403)) {
    const detail = presented
      ? `The server does not accept the credentials (${status}). Connect the account again, or check which scopes it needs.`
      : `The server answers with ${status}. Check its URL, and whether it is an MCP server.`
    return { ok: false, detail }
  }
  const detail = challenge
    ? 'The server asks for authorization.'
    : 'The server asks for authorization, but not how: it sends no WWW-Authenticate header. Its metadata is tried.'
  return { ok: true, detail }
}

/** What happens before a person is sent to the authorization server. */
async function findServer(plan: ConnectPlan, challenge: string | null, { setup }: DiagnoseDeps, trace: Trace) {
  const authority = await setup.authorityOf(plan, challenge, trace)
  const { server, resource, scopes } = authority
  if (server.quirks) {
    trace({
      step: 'server_metadata',
      ok: true,
      detail: `Uses the endpoints at ${new URL(server.issuer).host} that are configured or well known.`,
    })
  }
  let isReported = false
  const client = await setup.clientFor(plan, authority, (step) => {
    isReported ||= step.step === 'registration'
    trace(step)
  })
  const kinds = {
    pre_registered: 'Uses the client that is configured.',
    metadata_document: 'Introduces itself with its metadata document.',
    dynamic: 'Has registered a client.',
  }
  if (!isReported) trace({ step: 'registration', ok: true, detail: kinds[client.kind] })
  if (plan.type !== 'oauth2_authorization_code') return
  try {
    await explained(() => startAuthorization({ server, client, resource, scopes, redirectUri: setup.redirectUri }))
    const asked = scopes ? `the scopes "${scopes.join(' ')}"` : 'no particular scopes'
    trace({
      step: 'authorization',
      ok: true,
      detail: `The user signs in at ${new URL(server.issuer).host}, for ${asked}.`,
    })
  } catch (error) {
    if (error instanceof PlatformError) trace({ step: 'authorization', ok: false, detail: error.message })
    throw error
  }
}

/** The credentials of the account, refreshed if they have expired. */
async function credentialsOf(
  { existing, server }: ConnectPlan,
  { refresh, vault }: DiagnoseDeps,
  trace: Trace,
): Promise<Presented | undefined> {
  const failed = (detail: string) => void trace({ step: 'token', ok: false, detail })
  if (!existing) return failed('No account is connected. Connect one.')
  if (!isUsable(existing.status as ConnectionStatus)) {
    return failed(existing.error ?? 'The account has to be connected again.')
  }
  const origins: string[] = JSON.parse(existing.origins)
  if (server !== undefined && !origins.includes(new URL(server).origin)) {
    return failed('The account was connected for another host, so its credentials are not sent. Connect it again.')
  }
  try {
    const live = await refresh.fresh(openConnection(existing, vault))
    const until = live.row.expires_at
    const detail =
      until === null ? 'The account is connected.' : `The token is valid until ${new Date(until).toISOString()}.`
    trace({ step: 'token', ok: true, detail })
    return live.presented
  } catch (error) {
    if (error instanceof ConnectionNeeded) return failed('The token could not be refreshed. Connect the account again.')
    if (error instanceof PlatformError) return failed(error.message)
    throw error
  }
}
