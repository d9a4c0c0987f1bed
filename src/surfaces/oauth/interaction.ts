import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Client, errors, type Interaction, type Provider } from 'oidc-provider'
import type { Authenticator } from '../../access/authenticator.ts'
import type { DashboardSessions } from '../../access/dashboard-sessions.ts'
import { acceptsKind, mayUseServer } from '../../access/server-access.ts'
import { isSame } from '../../credentials/oauth-server-keys.ts'
import { PlatformError } from '../../model/errors.ts'
import { newId } from '../../model/ids.ts'
import type { Principal } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import { requireOwnPage, sessionTokenOf } from '../../server/browser-session.ts'
import type { Exchange } from '../../server/exchange.ts'
import type { PublicUrl } from '../../server/public-url.ts'
import type { Store } from '../../store/store.ts'
import { consentPage, continuePage, type Form, noServerPage, pageHeaders, signInPage } from './pages.ts'
import { interactionPath, routes } from './paths.ts'
import { refreshSeconds } from './provider.ts'
import { defaultScope, resourceAt, resourcePath, scopes as resourceScopes } from './resources.ts'
import type { SignInMethod } from './sign-in.ts'

export interface InteractionDeps {
  readonly provider: Provider
  readonly store: Store
  readonly holders: Pick<Authenticator, 'principal' | 'resume'>
  readonly methods: () => Promise<readonly SignInMethod[]>
  /** Company accounts that people can sign in with. */
  readonly providers: () => Promise<readonly { readonly id: string; readonly name: string }[]>
  readonly sessions: Pick<DashboardSessions, 'authenticate'>
  readonly publicUrl: PublicUrl
  readonly csrfKey: Buffer
  readonly findServer: (reference: string) => Promise<Server | undefined>
}

/** A client that has no refresh token gets one access token. */
const onceMs = 15 * 60 * 1000

interface Node {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The two pages that a person sees: sign in, then allow or not. The provider keeps what happens in between. */
export class Interactions {
  readonly #deps: InteractionDeps

  constructor(deps: InteractionDeps) {
    this.#deps = deps
  }

  async handle(exchange: Exchange, node: Node, fields: URLSearchParams): Promise<void> {
    const { provider } = this.#deps
    const interaction = await provider.interactionDetails(node.request, node.response)
    const client = await provider.Client.find(String(interaction.params.client_id))
    if (!client) throw new errors.InvalidClient('the client no longer exists')
    const form = this.#formOf(interaction)
    if (!exchange.path.endsWith(`/${interaction.uid}`)) throw new errors.SessionNotFound('another sign-in was started')
    if (exchange.method !== 'POST') {
      const isBack = interaction.prompt.name === 'login' && (await this.#returned(exchange, node, form))
      return isBack ? undefined : this.#show(node, interaction, client, form)
    }
    requireOwnPage(exchange)
    if (!isSame(Buffer.from(fields.get('csrf') ?? ''), Buffer.from(form.csrf))) {
      throw new PlatformError('FORGED_REQUEST', { reason: 'token' })
    }
    await this.#act(node, interaction, client, form, fields, exchange.peer)
  }

  /**
   * Back from signing in with a company account, which has started a session of the dashboard. Its cookie is Strict, so the
   * browser sends it only if a page of ours asks: hence one more step.
   */
  async #returned(exchange: Exchange, node: Node, form: Form): Promise<boolean> {
    const step = new URLSearchParams(exchange.query).get(returnStep)
    if (step === 'back') {
      sendPage(node, continuePage(form.base, `${form.action}?${returnStep}=in`))
      return true
    }
    const token = step === 'in' ? sessionTokenOf(exchange) : undefined
    const signedIn =
      token === undefined ? undefined : await this.#deps.sessions.authenticate(token).catch(() => undefined)
    if (!signedIn) return false
    const { id, signedInAt } = signedIn.principal
    const ts = signedInAt === undefined ? {} : { ts: Math.floor(signedInAt / 1000) }
    await this.#finish(node, { login: { accountId: id, ...ts } })
    return true
  }

  async #show(node: Node, interaction: Interaction, client: Client, form: Form, fault?: string): Promise<void> {
    if (interaction.prompt.name === 'login') {
      const returnTo = encodeURIComponent(`${form.action}?${returnStep}=back`)
      const providers = (await this.#deps.providers()).map(({ id, name }) => ({
        name,
        url: `${form.base}/api/v1/dashboard/sso/${encodeURIComponent(id)}/start?return_to=${returnTo}`,
      }))
      const html = signInPage(form, nameOf(client), { methods: await this.#deps.methods(), providers }, fault)
      return sendPage(node, html, fault === undefined ? 200 : 400)
    }
    const redirect = String(interaction.params.redirect_uri)
    const { principal, server, resource } = await this.#targetOf(interaction)
    const targets = [formTarget(redirect)]
    if (resource.server !== undefined && !server) {
      return sendPage(node, noServerPage(form, resource.server, principal.name), 403, targets)
    }
    const view = {
      client: { name: nameOf(client), host: hostOfClient(client.clientId) },
      redirect: { text: redirectText(redirect), isLoopback: isLoopback(redirect) },
      server: { name: server?.name ?? 'the management of this platform', url: this.#resourceOf(server) },
      scopes: scopesOf(interaction),
      account: principal.name,
    }
    sendPage(node, consentPage(form, view), 200, targets)
  }

  async #act(node: Node, interaction: Interaction, client: Client, form: Form, fields: URLSearchParams, from: string) {
    const action = fields.get('do')
    if (action === 'deny') {
      return this.#finish(node, { error: 'access_denied', error_description: 'the person did not allow it' })
    }
    if (action === 'switch') return this.#startOver(node, interaction)
    if (action === 'sign-in' && interaction.prompt.name === 'login') {
      return this.#signIn(node, interaction, client, form, fields, from)
    }
    if (action === 'allow' && interaction.prompt.name === 'consent') return this.#allow(node, interaction, client)
    throw new errors.InvalidRequest('the form is not valid')
  }

  async #signIn(
    node: Node,
    interaction: Interaction,
    client: Client,
    form: Form,
    fields: URLSearchParams,
    from: string,
  ) {
    const method = (await this.#deps.methods()).find(({ id }) => id === fields.get('method'))
    if (!method) throw new errors.InvalidRequest('the form is not valid')
    try {
      const { id } = await method.signIn(fields, from)
      await this.#finish(node, { login: { accountId: id } })
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      await this.#show(node, interaction, client, form, error.message)
    }
  }

  async #allow(node: Node, interaction: Interaction, client: Client): Promise<void> {
    const { principal, server, resource } = await this.#targetOf(interaction)
    if (resource.server !== undefined && !server) throw new errors.AccessDenied('no such server')
    const { provider, store } = this.#deps
    const given = scopesOf(interaction)
    const grant = new provider.Grant({ accountId: principal.id, clientId: client.clientId })
    grant.jti = newId('grant')
    grant.addOIDCScope(given.filter((scope) => scope === 'openid').join(' ') || 'offline_access')
    grant.addResourceScope(String(interaction.params.resource), given.join(' '))
    const redirect = String(interaction.params.redirect_uri)
    await store.oauthGrants.create({
      id: grant.jti,
      project_id: server?.project_id ?? principal.projectId,
      server_id: server?.id ?? null,
      resource: this.#resourceOf(server),
      scope: given.filter((scope) => isResourceScope(scope)).join(' '),
      principal_id: principal.id,
      principal_name: principal.name,
      client_id: client.clientId,
      client_name: nameOf(client),
      client_host: hostOfClient(client.clientId) ?? null,
      redirect_host: redirectText(redirect),
      signed_in_at: principal.kind === 'user' ? await this.#signedInAt(interaction) : null,
      expires_at: Date.now() + (client.grantTypeAllowed('refresh_token') ? refreshSeconds * 1000 : onceMs),
    })
    await this.#finish(node, { consent: { grantId: await grant.save() } })
  }

  /** When the person in this browser signed in. */
  async #signedInAt({ session }: Interaction): Promise<number | null> {
    const kept = session && (await this.#deps.provider.Session.findByUid(session.uid))
    return kept?.loginTs === undefined ? null : kept.loginTs * 1000
  }

  /** Ends the session of this browser, and sends the same request again. */
  async #startOver({ response }: Node, { session, params, ...interaction }: Interaction): Promise<void> {
    const { provider, publicUrl } = this.#deps
    const kept = session?.uid === undefined ? undefined : await provider.Session.findByUid(session.uid)
    await kept?.destroy()
    await provider.Interaction.find(interaction.jti).then((one) => one?.destroy())
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(params)) if (typeof value === 'string') query.set(name, value)
    redirectTo(response, `${publicUrl.href}${routes.authorization}?${query}`)
  }

  async #finish({ request, response }: Node, result: Parameters<Provider['interactionResult']>[2]): Promise<void> {
    redirectTo(response, await this.#deps.provider.interactionResult(request, response, result))
  }

  /** Who wants to allow what. The server is missing if the person cannot use it with OAuth. */
  async #targetOf({ session, params }: Interaction) {
    const { holders, findServer, publicUrl } = this.#deps
    const principal = session?.accountId === undefined ? undefined : await holders.principal(session.accountId)
    if (!principal) throw new errors.SessionNotFound('the account no longer exists')
    const resource = resourceAt(String(params.resource), publicUrl)
    if (!resource) throw new errors.InvalidTarget()
    const found = resource.server === undefined ? undefined : await findServer(resource.server)
    const server = found && acceptsKind(asClient, found) && mayUseServer(principal, found) ? found : undefined
    return { principal, server, resource }
  }

  #resourceOf(server: Server | undefined): string {
    return this.#deps.publicUrl.href + resourcePath(server?.slug)
  }

  #formOf({ uid }: Interaction): Form {
    const { csrfKey, publicUrl } = this.#deps
    const csrf = createHmac('sha256', csrfKey).update(uid).digest('base64url')
    return { action: `${publicUrl.path}${interactionPath}/${uid}`, csrf, base: publicUrl.path }
  }
}

/** The parameter that says how far signing in with a company account has come. */
const returnStep = 'sso'

const asClient: Pick<Principal, 'kind'> = { kind: 'oauth' }

const isResourceScope = (scope: string): boolean => (resourceScopes as readonly string[]).includes(scope)

/** What the person is asked for. */
function scopesOf({ params }: Interaction): string[] {
  const asked = String(params.scope ?? '').split(' ')
  const known = asked.filter((scope) => isResourceScope(scope) || scope === 'openid')
  return known.some(isResourceScope) ? known : [...known, defaultScope]
}

function sendPage({ response }: Node, html: string, status = 200, formTargets: readonly string[] = []): void {
  response.statusCode = status
  for (const [name, value] of Object.entries(pageHeaders(formTargets))) response.setHeader(name, value)
  response.end(html)
}

/** 303, so that a browser never repeats a form elsewhere. */
function redirectTo(response: ServerResponse, url: string): void {
  response.statusCode = 303
  response.setHeader('location', url)
  response.setHeader('cache-control', 'no-store')
  response.end()
}

const nameOf = ({ clientName, clientId }: Client): string =>
  (clientName ?? '').trim().slice(0, 80) || hostOfClient(clientId) || 'An app'

/** The host that published the metadata of the client, in ASCII. */
const hostOfClient = (id: string): string | undefined => (id.startsWith('https://') ? URL.parse(id)?.host : undefined)

const isWeb = ({ protocol }: URL) => protocol === 'https:' || protocol === 'http:'

const isLoopback = (uri: string): boolean => /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/?]|$)/i.test(uri)

function redirectText(uri: string): string {
  const url = new URL(uri)
  if (!isWeb(url)) return `the app that opens ${url.protocol} links`
  return isLoopback(uri) ? `an app on this computer (${url.host})` : url.host
}

/** What the content security policy calls the place that a redirect goes to. */
function formTarget(uri: string): string {
  const url = new URL(uri)
  return isWeb(url) ? url.origin : url.protocol
}
