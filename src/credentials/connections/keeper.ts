import type { ConnectionRow } from '../../db/tables.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import { newId } from '../../model/ids.ts'
import type { ConnectionChange, Connections } from '../../store/connections.ts'
import { revoke } from '../oauth/revoke.ts'
import type { OAuthClient, Tokens } from '../oauth/types.ts'
import type { Vault } from '../vault.ts'
import { ConnectionNeeded } from './authorization.ts'
import type { ConnectionEvents } from './events.ts'
import { identityProviderOf, requestGrant } from './grant.ts'
import { openConnection, type StoredSecrets, sealSecrets } from './live.ts'
import { type Authority, explained, type OAuthSetup } from './oauth-setup.ts'
import type { ConnectPlan } from './plan.ts'
import { canRefresh, marginMs, type TokenRefresh } from './refresh.ts'

export interface KeeperDeps {
  readonly connections: Connections
  readonly vault: Pick<Vault, 'open' | 'seal'>
  readonly events: ConnectionEvents
  readonly refresh: TokenRefresh
  readonly setup: OAuthSetup
  readonly jobs: Jobs
  /** Called when calls that wait for an account of the project may continue. */
  onConnected(projectId: string): Promise<void>
  /** How long a connection can be idle before its tokens are refreshed anyway. Unused refresh tokens expire. */
  readonly idleMs?: number
}

const queue = 'connections'
const hour = 60 * 60_000

/** Stores credentials that somebody has provided, and keeps them alive. */
export class ConnectionKeeper {
  readonly #deps: KeeperDeps

  constructor(deps: KeeperDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    await this.#deps.jobs.work(queue, (id) => this.#tend(id), { concurrency: 10 })
    await this.remind()
  }

  /** Enqueues the jobs of all connections with expiring tokens: a process may have died before it enqueued them. */
  async remind(): Promise<void> {
    for (const row of await this.#deps.connections.expiringBefore(Date.now() + 2 * hour)) await this.#schedule(row)
  }

  /** Stores credentials that do not expire. */
  saveStatic(plan: ConnectPlan, secrets: StoredSecrets, account: string | null): Promise<ConnectionRow> {
    return this.#save(plan, secrets, { account })
  }

  async saveTokens(
    plan: ConnectPlan,
    { server, resource }: Authority,
    client: OAuthClient,
    tokens: Tokens,
    requested: readonly string[],
    exchanged: Pick<StoredSecrets, 'subject_token' | 'identity_provider'> = {},
  ): Promise<ConnectionRow> {
    const secrets = {
      ...exchanged,
      idp_client_secret: plan.own.idp_client_id === undefined ? undefined : plan.idpClientSecret,
      access_token: tokens.accessToken,
      refresh_token: tokens.refreshToken,
      client,
      client_secret: plan.own.client_id === undefined ? undefined : plan.clientSecret,
    }
    const extra =
      tokens.extraScopes.length > 0 ? `The service granted more than requested: ${tokens.extraScopes.join(' ')}` : null
    return this.#save(plan, secrets, {
      issuer: server.issuer,
      resource: resource ?? null,
      grant_details: JSON.stringify({ server, issued_at: Date.now() }),
      scopes_requested: JSON.stringify(requested),
      scopes_granted: JSON.stringify(tokens.scopes),
      expires_at: tokens.expiresAt ?? null,
      account: tokens.account ?? plan.existing?.account ?? null,
      error: extra,
    })
  }

  /** Gets a token without a browser. */
  async connectDirectly(plan: ConnectPlan, subjectToken?: string): Promise<ConnectionRow> {
    const { setup } = this.#deps
    const { type, settings } = plan
    const authority = await setup.authorityOf(plan, null)
    const { server, resource, scopes } = authority
    const client = await setup.clientFor(plan, authority)
    const context = setup.contextFor(plan, server.issuer)
    const identityProvider = await explained(() => identityProviderOf(type, settings, plan.idpClientSecret, context))
    const grant = { type, server, client, resource, scopes, settings, subjectToken, identityProvider }
    const tokens = await explained(() => requestGrant(grant, context))
    const exchanged = { subject_token: subjectToken, identity_provider: identityProvider }
    return this.saveTokens(plan, authority, client, tokens, scopes ?? [], exchanged)
  }

  async #save(plan: ConnectPlan, secrets: StoredSecrets, change: ConnectionChange): Promise<ConnectionRow> {
    const { connections, vault, events } = this.#deps
    const { subject, existing, type, origins } = plan
    const id = existing?.id ?? newId('conn')
    const given: ConnectionChange = {
      error: null,
      ...change,
      type,
      status: 'active',
      origins: JSON.stringify(origins),
      secrets: await sealSecrets(id, secrets, vault),
      ...{ retry_at: null, failures: 0 },
    }
    const isOAuth = type.startsWith('oauth2')
    const settings = JSON.stringify(isOAuth ? plan.own : plan.settings)
    const row = existing
      ? await connections.replace(id, { ...given, settings })
      : await connections.create({ ...subject, id, ...given, type, settings })
    if (!row) throw new ConnectionNeeded('missing')
    const isFirst = !existing || (isOAuth && existing.grant_details === null)
    if (isFirst) await events.publish('connection.created', row)
    else if (existing.status !== 'active') await events.publish('connection.restored', row)
    await this.#schedule(row)
    await this.#deps.onConnected(row.project_id)
    return row
  }

  /** Revokes the tokens at the authorization server if it can. */
  async revoke(row: ConnectionRow): Promise<'revoked' | 'unsupported'> {
    const { setup, vault } = this.#deps
    const { secrets, details } = openConnection(row, vault)
    const { client, access_token: accessToken, refresh_token: refreshToken } = secrets
    if (!client || !details || accessToken === undefined) return 'unsupported'
    const context = setup.contextFor({ subject: row }, details.server.issuer)
    return revoke({ server: details.server, client, accessToken, refreshToken }, context).catch(() => 'unsupported')
  }

  /** Marks it as revoked, so that no call uses it, and then revokes its tokens at the service. */
  async end(row: ConnectionRow): Promise<ConnectionRow | undefined> {
    const { connections, events } = this.#deps
    const ended = await connections.replace(row.id, { status: 'revoked', secrets: null, expires_at: null, error: null })
    if (ended && row.status !== 'revoked') await events.publish('connection.revoked', ended)
    await this.revoke(row)
    return ended
  }

  /** Nothing can use the connections of a tool that is deleted. */
  async removeAll(projectId: string, target: string): Promise<void> {
    const { connections } = this.#deps
    for (const row of await connections.ofTarget(projectId, target)) {
      await this.end(row)
      await connections.remove(row.id)
    }
  }

  async #schedule({ id, expires_at, retry_at }: Pick<ConnectionRow, 'id' | 'expires_at' | 'retry_at'>): Promise<void> {
    if (expires_at === null) return
    const now = Date.now()
    const early = expires_at - marginMs(now, expires_at)
    await this.#deps.jobs.enqueue(queue, id, { after: Math.max(0, early - now, (retry_at ?? 0) - now) })
  }

  /** Refreshes an idle connection. Connections in use are refreshed by the calls that use them. */
  async #tend(id: string): Promise<void> {
    const { connections, vault, refresh, jobs, idleMs = 12 * hour } = this.#deps
    const row = await connections.findRow(id)
    if (!row || row.expires_at === null || !['active', 'expiring'].includes(row.status)) return
    const live = openConnection(row, vault)
    const now = Date.now()
    const isEarly = now < row.expires_at - marginMs(live.details?.issued_at ?? row.updated_at, row.expires_at)
    const idleUntil = (live.details?.issued_at ?? row.updated_at) + idleMs
    if (isEarly) return this.#schedule(row)
    // Access tokens of an hour would otherwise be refreshed every hour, for nobody.
    if (canRefresh(live) && now < idleUntil) return jobs.enqueue(queue, id, { after: idleUntil - now })
    try {
      const next = await refresh.refresh(live)
      if (next.row.generation !== row.generation || next.row.retry_at !== null) await this.#schedule(next.row)
      else await jobs.enqueue(queue, id, { after: Math.max(0, row.expires_at - Date.now()) })
    } catch (error) {
      // It needs its owner, or it failed for now: then it is tried again.
      if (!(error instanceof ConnectionNeeded)) throw error
    }
  }
}
