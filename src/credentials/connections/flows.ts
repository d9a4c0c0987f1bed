import { hash, randomBytes } from 'node:crypto'
import type { ConnectionRow, ConnectLinkRow } from '../../db/tables.ts'
import type { ConnectReason } from '../../model/connection.ts'
import { PlatformError } from '../../model/errors.ts'
import { newId } from '../../model/ids.ts'
import { iso } from '../../model/page.ts'
import type { ConnectLinks } from '../../store/connect-links.ts'
import { sealedAt } from '../../store/sealed.ts'
import { hashState, startAuthorization } from '../oauth/authorize.ts'
import { ClientRejected } from '../oauth/errors.ts'
import { finishAuthorization } from '../oauth/finish.ts'
import { revoke } from '../oauth/revoke.ts'
import type { OAuthClient, PendingAuthorization } from '../oauth/types.ts'
import type { Vault } from '../vault.ts'
import type { ConnectionKeeper } from './keeper.ts'
import type { StoredSecrets } from './live.ts'
import { type Authority, explained, type OAuthSetup } from './oauth-setup.ts'
import { type ConnectPlan, type ConnectSubject, type GivenPlan, type PlanDeps, planFor } from './plan.ts'

/** How long a link can be opened, and how long a browser may stay at an authorization server. */
const linkMs = 15 * 60_000
const stateMs = 10 * 60_000

export interface FlowDeps extends PlanDeps {
  readonly links: ConnectLinks
  readonly keeper: ConnectionKeeper
  readonly setup: OAuthSetup
  readonly vault: Pick<Vault, 'open' | 'seal'>
  publicUrl(): string
}

export interface LinkRequest extends ConnectSubject {
  readonly principalId: string
  /** `backend`: an application vouches for its user. `platform`: the opener must prove to be the user. */
  readonly mintedBy: 'backend' | 'platform'
  readonly toolId: string | null
  readonly reason: ConnectReason
  readonly challenge: string | null
  readonly returnUrl: string | null
}

export interface ConnectLink {
  readonly connect_url: string
  readonly expires_at: string
}

/** Stored, encrypted, while the browser is at the authorization server. */
interface PendingFlow {
  readonly pending: PendingAuthorization
  readonly authority: Authority
  readonly client: OAuthClient
  /** Whether the server had rejected our registered client, so that this one is new. */
  readonly isAgain?: boolean
}

/** The account is connected, or the browser must be sent to the authorization server again. */
export type FinishedFlow =
  | { readonly kind: 'connected'; readonly row: ConnectionRow }
  | { readonly kind: 'again'; readonly url: string }

export const hashToken = (token: string): string => hash('sha256', token)
export const newToken = (): string => randomBytes(32).toString('base64url')

/**
 * The steps of a person who connects an account, connects it again, or grants it more.
 *
 * A link is opened, bound to the first browser that continues, and used up when the account is connected. With OAuth, the
 * browser leaves with a `state` and comes back with it: once, within ten minutes, in the same browser.
 */
export class ConnectFlows {
  readonly #deps: FlowDeps

  constructor(deps: FlowDeps) {
    this.#deps = deps
  }

  get redirectUri(): string {
    return this.#deps.setup.redirectUri
  }

  async createLink(request: LinkRequest): Promise<ConnectLink> {
    const token = newToken()
    const expiresAt = Date.now() + linkMs
    const { project_id, target, owner, reason, challenge } = request
    await this.#deps.links.create({
      ...{ project_id, target, owner, reason, challenge },
      id: newId('flow'),
      token_hash: hashToken(token),
      principal_id: request.principalId,
      minted_by: request.mintedBy,
      tool_id: request.toolId,
      return_url: request.returnUrl,
      expires_at: expiresAt,
    })
    return { connect_url: `${this.#deps.publicUrl()}/connect/${token}`, expires_at: iso(expiresAt) }
  }

  async isOpen({ connect_url }: ConnectLink): Promise<boolean> {
    const token = connect_url.slice(connect_url.lastIndexOf('/') + 1)
    const link = await this.#deps.links.findByToken(hashToken(token))
    return link?.status === 'open' && link.browser_hash === null && link.expires_at > Date.now()
  }

  /** The link, if it can still be used. */
  async open(token: string): Promise<ConnectLinkRow> {
    return requireOpen(await this.#deps.links.findByToken(hashToken(token)))
  }

  plan({ project_id, target, owner }: ConnectSubject, given?: GivenPlan): Promise<ConnectPlan> {
    return planFor({ project_id, target, owner }, this.#deps, given)
  }

  authority(plan: ConnectPlan, { challenge }: Pick<ConnectLinkRow, 'challenge'>): Promise<Authority> {
    return this.#deps.setup.authorityOf(plan, challenge)
  }

  /** The first browser that continues has the link. */
  async bind(link: ConnectLinkRow, browser: string): Promise<ConnectLinkRow> {
    const bound = await this.#deps.links.bind(link.id, hashToken(browser))
    if (!bound) throw new PlatformError('CONNECT_OTHER_BROWSER', {})
    return bound
  }

  /** Stores credentials that were entered on the page. */
  async enter(link: ConnectLinkRow, plan: ConnectPlan, secrets: StoredSecrets, account: string | null): Promise<void> {
    const row = await this.#deps.keeper.saveStatic(plan, secrets, account)
    await this.#deps.links.complete(link.id, row.id)
  }

  /** Where to send the browser. */
  async begin(link: ConnectLinkRow, plan: ConnectPlan): Promise<string> {
    const { setup } = this.#deps
    const authority = await this.authority(plan, link)
    const known = await setup.clientFor(plan, authority)
    // Whoever starts again without having come back may have seen an error, because the server has removed our client.
    const isDoubtful = link.state_hash !== null && known.kind === 'dynamic'
    const client = isDoubtful ? await setup.replaceClient(plan, authority.server, known) : known
    return this.#begin(link, plan, { authority, client })
  }

  async #begin(link: ConnectLinkRow, plan: ConnectPlan, chosen: Omit<PendingFlow, 'pending'>): Promise<string> {
    const { setup, vault, links } = this.#deps
    const { client, authority } = chosen
    const { server, resource, scopes } = authority
    const previous: string[] = plan.existing ? JSON.parse(plan.existing.scopes_requested) : []
    const started = await explained(() =>
      startAuthorization({
        ...{ server, client, resource, scopes, redirectUri: setup.redirectUri },
        ...(link.reason === 'insufficient_scope' && { previousScopes: previous }),
      }),
    )
    const { pending, url } = started
    const flow: PendingFlow = { pending, ...chosen }
    await links.start(link.id, {
      state_hash: pending.stateHash,
      state_until: Date.now() + stateMs,
      pending: await vault.seal(JSON.stringify(flow), sealedAt.connectLink(link.id)),
    })
    return url
  }

  /** The link that an authorization server returns to. Changes nothing. */
  async findReturn(state: string, browser: string | undefined): Promise<ConnectLinkRow> {
    const link = await this.#deps.links.findByState(hashState(state))
    if (link?.status !== 'open' || (link.state_until ?? 0) < Date.now() || link.pending === null) {
      throw new PlatformError('CONNECT_STATE_INVALID', {})
    }
    if (browser === undefined || link.browser_hash !== hashToken(browser)) {
      throw new PlatformError('CONNECT_OTHER_BROWSER', {})
    }
    return link
  }

  /** Exchanges the code, and stores the tokens. The state is used up first, whatever happens then. */
  async finish(link: ConnectLinkRow, params: URLSearchParams): Promise<FinishedFlow> {
    const { links, keeper, setup, vault } = this.#deps
    const taken = await links.takeState(link.id, String(link.state_hash))
    if (!taken || link.pending === null) throw new PlatformError('CONNECT_STATE_INVALID', {})
    const flow: PendingFlow = JSON.parse(vault.open(link.pending, sealedAt.connectLink(link.id)))
    const { pending, authority, client } = flow
    const plan = await this.plan(link)
    const context = setup.contextFor(plan, authority.server.issuer)
    const tokens = await explained(() =>
      finishAuthorization({ pending, params, server: authority.server, client }, context),
    ).catch((error: unknown) => {
      const isUnknown = error instanceof Error && error.cause instanceof ClientRejected && client.kind === 'dynamic'
      if (!isUnknown || flow.isAgain) throw error
      return undefined
    })
    if (!tokens) {
      // A code is valid only for the client that it was issued to, so the person is sent back with a new client.
      const next = await setup.replaceClient(plan, authority.server, client)
      return { kind: 'again', url: await this.#begin(link, plan, { authority, client: next, isAgain: true }) }
    }
    const used = await links.complete(link.id, plan.existing?.id ?? '')
    if (!used) {
      // Another tab was first. Its tokens stay, and these are not left behind.
      const { accessToken, refreshToken } = tokens
      await revoke({ server: authority.server, client, accessToken, refreshToken }, context).catch(() => {})
      throw new PlatformError('CONNECT_LINK_INVALID', { reason: 'used' })
    }
    return { kind: 'connected', row: await keeper.saveTokens(plan, authority, client, tokens, pending.scopes ?? []) }
  }

  /** An application confirms who has opened the link. */
  async confirm(flowId: string, endUserId: string, projectId: string | null): Promise<ConnectLink> {
    const link = await this.#deps.links.find(flowId)
    if (!link || (projectId !== null && link.project_id !== projectId)) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'connect flow', id: flowId })
    }
    requireOpen(link)
    if (link.owner !== `user/${endUserId}`) {
      // Somebody else who continues does not use up the link.
      await this.#deps.links.unbind(link.id)
      throw new PlatformError('CONNECT_WRONG_PERSON', { signed_in: true })
    }
    await this.#deps.links.verify(link.id)
    return { connect_url: `${this.#deps.publicUrl()}/connect/flow/${link.id}`, expires_at: iso(link.expires_at) }
  }

  async findFlow(id: string): Promise<ConnectLinkRow> {
    return requireOpen(await this.#deps.links.find(id))
  }

  async verify(link: ConnectLinkRow): Promise<void> {
    await this.#deps.links.verify(link.id)
  }
}

function requireOpen(link: ConnectLinkRow | undefined): ConnectLinkRow {
  if (!link) throw new PlatformError('CONNECT_LINK_INVALID', { reason: 'unknown' })
  if (link.status !== 'open') throw new PlatformError('CONNECT_LINK_INVALID', { reason: 'used' })
  if (link.expires_at < Date.now()) throw new PlatformError('CONNECT_LINK_INVALID', { reason: 'expired' })
  return link
}
