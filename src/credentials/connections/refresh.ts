import { randomUUID } from 'node:crypto'
import type { ChangeEvents } from '../../db/change-events.ts'
import type { ConnectionRow } from '../../db/tables.ts'
import type { Outbound } from '../../http/outbound.ts'
import { backoffMs } from '../../lib/backoff.ts'
import { ConnectionType, needsNoBrowser } from '../../model/connection.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Connections } from '../../store/connections.ts'
import { ClientRejected, GrantRejected, OAuthError, TemporaryFailure } from '../oauth/errors.ts'
import { refresh } from '../oauth/grants.ts'
import type { AuthorizationServer, OAuthClient, Tokens } from '../oauth/types.ts'
import type { Vault } from '../vault.ts'
import { ConnectionNeeded } from './authorization.ts'
import type { ConnectionEvents } from './events.ts'
import { requestGrant } from './grant.ts'
import { type LiveConnection, openConnection, sealSecrets } from './live.ts'

export interface RefreshDeps {
  readonly connections: Connections
  /** Registers another client at a server that has rejected ours. */
  replaceClient(
    plan: { readonly subject: Pick<ConnectionRow, 'project_id' | 'target' | 'owner'> },
    server: AuthorizationServer,
    rejected: OAuthClient,
    signal: AbortSignal,
  ): Promise<OAuthClient>
  readonly changes: ChangeEvents
  readonly vault: Pick<Vault, 'open' | 'seal'>
  readonly outbound: Pick<Outbound, 'client'>
  readonly events: ConnectionEvents
}

const requestMs = 10_000
/**
 * Longer than a request can take, so that no two processes send the same refresh token. Not much longer, because calls wait
 * this long if the process with the lease dies.
 */
const leaseMs = requestMs + 5000
const pollMs = 250
const minute = 60_000

/** How long before its expiry a token is refreshed: five minutes, or a tenth of its lifetime if that is shorter. */
export const marginMs = (issuedAt: number, expiresAt: number): number =>
  Math.min(5 * minute, Math.max(0, expiresAt - issuedAt) / 10)

const marginOf = ({ row, details }: LiveConnection): number =>
  row.expires_at === null ? 0 : marginMs(details?.issued_at ?? row.updated_at, row.expires_at)

export const canRefresh = ({ row: { type }, secrets: { client, refresh_token } }: LiveConnection): boolean =>
  client !== undefined && (needsNoBrowser(type) || refresh_token !== undefined)

const isDead = ({ row: { expires_at } }: LiveConnection): boolean => expires_at !== null && expires_at <= Date.now()

/**
 * Refreshes tokens ahead of their expiry, once, however many calls and processes need it.
 *
 * In a process, the first call refreshes and the others share its promise. Between processes, a lease on the row decides,
 * taken by compare-and-set on `generation`. The new tokens are stored, with the next generation, before anyone uses
 * them. Processes without the lease wait for the change event, or read the row again after a moment.
 */
export class TokenRefresh {
  readonly #deps: RefreshDeps
  readonly #running = new Map<string, Promise<LiveConnection>>()
  readonly #process = randomUUID()

  constructor(deps: RefreshDeps) {
    this.#deps = deps
  }

  /** The connection with a token that works now. Waits for a refresh only if the current token has expired. */
  fresh(live: LiveConnection): LiveConnection | Promise<LiveConnection> {
    const { expires_at, retry_at } = live.row
    const now = Date.now()
    if (expires_at === null || now < expires_at - marginOf(live)) return live
    if (isDead(live)) return this.refresh(live)
    if ((retry_at ?? 0) <= now) this.refresh(live).catch(() => {})
    return live
  }

  /** Replaces the credentials of this generation. */
  refresh(live: LiveConnection): Promise<LiveConnection> {
    const { id } = live.row
    let running = this.#running.get(id)
    if (!running) {
      running = this.#refresh(live).finally(() => this.#running.delete(id))
      this.#running.set(id, running)
    }
    return running
  }

  /**
   * Gets a token with more scopes, for connections that need no browser. Undefined if the server does not grant them: then
   * the connection stays as it is.
   */
  async widen(live: LiveConnection, scopes: readonly string[]): Promise<LiveConnection | undefined> {
    const { connections, vault } = this.#deps
    const { id, generation, scopes_requested } = live.row
    const by = `${this.#process}/wider/${generation}`
    const leased = await connections.lease(id, generation, by, Date.now() + leaseMs)
    if (!leased) {
      const next = await this.#afterOther(live)
      const requested: string[] = JSON.parse(next.row.scopes_requested)
      return scopes.every((scope) => requested.includes(scope)) ? next : undefined
    }
    const union = JSON.stringify([...new Set([...JSON.parse(scopes_requested), ...scopes])])
    const wider = { ...openConnection(leased, vault), row: { ...leased, scopes_requested: union } }
    const { refresh_token: _, ...secrets } = wider.secrets
    try {
      const { tokens, client } = await this.#tokensOf({ ...wider, secrets }, AbortSignal.timeout(requestMs))
      return await this.#store(wider, by, tokens, client)
    } catch (error) {
      await connections.settle(leased, by, {})
      if (error instanceof OAuthError) return undefined
      throw error
    }
  }

  async #refresh(known: LiveConnection): Promise<LiveConnection> {
    let live = known
    for (;;) {
      if (!canRefresh(live)) return this.#cannotRefresh(live)
      const { id, generation, retry_at } = live.row
      if ((retry_at ?? 0) > Date.now()) return this.#unavailable(live)
      const by = `${this.#process}/${generation}`
      const { connections, vault } = this.#deps
      const before = await connections.findRow(id)
      const leased = await connections.lease(id, generation, by, Date.now() + leaseMs)
      if (leased) return this.#request(openConnection(leased, vault), by, before?.lease_by != null)
      const next = await this.#afterOther(live)
      if (next.row.generation !== generation) return next
      live = next
    }
  }

  /** Waits until the process with the lease has stored its result, or its lease has ended. */
  async #afterOther({ row: { id, generation } }: LiveConnection): Promise<LiveConnection> {
    for (;;) {
      const row = await this.#deps.connections.findRow(id)
      if (!row || row.status === 'revoked') throw new ConnectionNeeded('revoked', { subject: row })
      if (row.status === 'reauth_required') throw new ConnectionNeeded('expired', { subject: row })
      const isOver = row.lease_until === null || row.lease_until < Date.now()
      if (row.generation !== generation || isOver) return openConnection(row, this.#deps.vault)
      await this.#changed(id)
    }
  }

  #changed(id: string): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        stop()
        resolve()
      }
      const timer = setTimeout(done, pollMs)
      const stop = this.#deps.changes.subscribe('connections', (ids) => {
        if (ids.length === 0 || ids.includes(id)) done()
      })
    })
  }

  /** `isTakeover`: a process has died with the lease, so the server may already have replaced the refresh token. */
  async #request(live: LiveConnection, by: string, isTakeover: boolean): Promise<LiveConnection> {
    try {
      const { tokens, client } = await this.#tokensOf(live, AbortSignal.timeout(requestMs))
      return await this.#store(live, by, tokens, client)
    } catch (error) {
      return this.#failed(live, by, error, isTakeover)
    }
  }

  async #store(live: LiveConnection, by: string, tokens: Tokens, client: OAuthClient): Promise<LiveConnection> {
    const { row } = live
    const { connections, vault, events } = this.#deps
    const secrets = { ...live.secrets, client, access_token: tokens.accessToken, refresh_token: tokens.refreshToken }
    const stored = await connections.settle(row, by, {
      secrets: await sealSecrets(row.id, secrets, vault),
      grant_details: JSON.stringify({ ...live.details, issued_at: Date.now() }),
      scopes_requested: row.scopes_requested,
      scopes_granted: JSON.stringify(tokens.scopes),
      expires_at: tokens.expiresAt ?? null,
      ...{ status: 'active', retry_at: null, failures: 0, error: null },
    })
    if (!stored) return this.#reread(row)
    if (row.status !== 'active') await events.publish('connection.restored', stored)
    return openConnection(stored, vault)
  }

  /** If the server does not know our client any more, registers another, once. Some servers keep the grant. */
  async #tokensOf(live: LiveConnection, signal: AbortSignal): Promise<{ tokens: Tokens; client: OAuthClient }> {
    const { row, details, secrets } = live
    const { client } = secrets
    if (!client || !details) throw new Error('This connection cannot be refreshed.')
    try {
      return { tokens: await this.#requestTokens(live, details.server, client, signal), client }
    } catch (error) {
      if (!(error instanceof ClientRejected) || client.kind !== 'dynamic') throw error
      const next = await this.#deps
        .replaceClient({ subject: row }, details.server, client, signal)
        .catch(() => undefined)
      if (!next) throw error
      return { tokens: await this.#requestTokens(live, details.server, next, signal), client: next }
    }
  }

  #requestTokens(
    { row, settings, secrets }: LiveConnection,
    server: AuthorizationServer,
    client: OAuthClient,
    signal: AbortSignal,
  ): Promise<Tokens> {
    const { fetch } = this.#deps.outbound.client({ project: row.project_id, credentials: ['oauth', server.issuer] })
    const context = { fetch, signal }
    const common = { server, client, resource: row.resource ?? undefined }
    const { refresh_token: refreshToken, subject_token: subjectToken, identity_provider: identityProvider } = secrets
    const type = ConnectionType.parse(row.type)
    if (type !== 'oauth2_client_credentials' && refreshToken !== undefined) {
      return refresh({ ...common, refreshToken, scopes: JSON.parse(row.scopes_granted) }, context)
    }
    const requested: string[] = JSON.parse(row.scopes_requested)
    const scopes = requested.length > 0 ? requested : undefined
    return requestGrant({ ...common, type, scopes, settings, subjectToken, identityProvider }, context)
  }

  /** Only a rejected grant ends the connection, and only if no other process has replaced the tokens meanwhile. */
  async #failed(live: LiveConnection, by: string, error: unknown, isTakeover: boolean): Promise<LiveConnection> {
    const { row } = live
    const { connections, events } = this.#deps
    if (!(error instanceof OAuthError)) {
      await connections.settle(row, by, {})
      throw error
    }
    if (error instanceof GrantRejected || error instanceof ClientRejected) {
      const reason = isTakeover ? `${error.message} ${interrupted}` : error.message
      const ended = await connections.settle(row, by, { status: 'reauth_required', error: reason })
      if (!ended) return this.#reread(row)
      await events.publish('connection.reauth_required', ended)
      throw new ConnectionNeeded('expired', { subject: row })
    }
    const failures = row.failures + 1
    const wait = (error instanceof TemporaryFailure ? error.retryAfterMs : undefined) ?? backoff(failures)
    const waiting = await connections.settle(row, by, {
      ...{ failures, retry_at: Date.now() + wait, error: error.message },
      status: 'expiring',
    })
    if (!waiting) return this.#reread(row)
    if (row.status === 'active') await events.publish('connection.expiring', waiting)
    return this.#unavailable(openConnection(waiting, this.#deps.vault), error)
  }

  /** The old token is used as long as it works. */
  #unavailable(live: LiveConnection, cause?: OAuthError): LiveConnection {
    if (!isDead(live)) return live
    const host = cause?.host ?? URL.parse(live.row.issuer ?? '')?.host ?? 'the authorization server'
    const reason = 'the access token has expired, and the authorization server is failing. Try again later'
    throw new PlatformError('TOOL_UNREACHABLE', { host, reason }, { cause })
  }

  async #cannotRefresh(live: LiveConnection): Promise<LiveConnection> {
    const { row } = live
    const { connections, events, vault } = this.#deps
    if (isDead(live)) {
      const error = 'The access token has expired, and there is no refresh token.'
      const ended = await connections.transition(row, { status: 'reauth_required', error })
      if (ended) await events.publish('connection.reauth_required', ended)
      throw new ConnectionNeeded('expired', { subject: row })
    }
    if (row.status !== 'active') return live
    const expiring = await connections.transition(row, { status: 'expiring' })
    if (expiring) await events.publish('connection.expiring', expiring)
    return expiring ? openConnection(expiring, vault) : this.#reread(row)
  }

  async #reread({ id }: ConnectionRow): Promise<LiveConnection> {
    const row = await this.#deps.connections.findRow(id)
    if (!row || row.status === 'revoked') throw new ConnectionNeeded('revoked', { subject: row })
    if (row.status === 'reauth_required') throw new ConnectionNeeded('expired', { subject: row })
    return openConnection(row, this.#deps.vault)
  }
}

const interrupted =
  'The previous refresh was interrupted because its process stopped, so the tokens it was issued were lost.'

const backoff = (failures: number) => backoffMs(failures, { firstMs: 2000, maxMs: 10 * minute })
