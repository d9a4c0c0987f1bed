import type { Logger } from 'pino'
import type { Authenticator } from '../../access/authenticator.ts'
import type { DashboardSessions } from '../../access/dashboard-sessions.ts'
import type { ConnectFlows } from '../../credentials/connections/flows.ts'
import type { ConnectPlan } from '../../credentials/connections/plan.ts'
import type { ConnectLinkRow } from '../../db/tables.ts'
import { PlatformError } from '../../model/errors.ts'
import { textOf } from '../../server/body.ts'
import { toPlatformError } from '../../server/error-reply.ts'
import { type Exchange, type Handler, type Params, sendJson } from '../../server/exchange.ts'
import type { Route } from '../../server/router.ts'
import { readTarget } from '../../store/connections.ts'
import type { Store } from '../../store/store.ts'
import { browserCookie, browserOf, csrfOf, newBrowser, requireOwnForm } from './browser.ts'
import { requireOpener } from './opener.ts'
import { type ConnectField, connectPage, donePage, errorPage, pageHeaders, signInPage } from './page.ts'

export interface ConnectDeps {
  readonly flows: ConnectFlows
  readonly sessions: DashboardSessions
  readonly authenticator: Authenticator
  readonly store: Store
  readonly log: Logger
  publicUrl(): string
}

const maxForm = 128 * 1024
/** Longer parameters are not from an authorization server. */
const maxQuery = 8 * 1024

/** The hosted pages on which people connect accounts. They are apart from the dashboard: its code and cookie are not used. */
export function connectRoutes(deps: ConnectDeps): Route[] {
  const { flows } = deps
  const route = (method: string, path: string, handle: Handler): Route => ({
    method,
    path,
    handle: async (exchange, params) => {
      try {
        await handle(exchange, params)
      } catch (error) {
        sendProblem(exchange, error, deps)
      }
    },
  })
  const byToken = async ({ token = '' }: Params) => requireMinter(await flows.open(token), deps)
  const byFlow = async ({ flow = '' }: Params) => requireMinter(requireVerified(await flows.findFlow(flow)), deps)
  return [
    route('GET', '/connect/client-metadata.json', (exchange) => sendDocument(exchange, deps)),
    route('GET', '/connect/callback', (exchange) => finish(exchange, deps)),
    route('GET', '/connect/flow/:flow', async (exchange, params) => show(exchange, await byFlow(params), deps)),
    route('POST', '/connect/flow/:flow', async (exchange, params) => submit(exchange, await byFlow(params), deps)),
    route('GET', '/connect/:token', async (exchange, params) => show(exchange, await byToken(params), deps)),
    route('POST', '/connect/:token', async (exchange, params) => submit(exchange, await byToken(params), deps)),
  ]
}

/** A link ends when the caller who made it loses access. */
async function requireMinter(link: ConnectLinkRow, { authenticator }: ConnectDeps): Promise<ConnectLinkRow> {
  if (await authenticator.principal(link.principal_id)) return link
  throw new PlatformError('CONNECT_LINK_INVALID', { reason: 'unknown' })
}

/** The id of a flow is not a secret. It leads to a page only after its application has confirmed the user. */
function requireVerified(link: ConnectLinkRow): ConnectLinkRow {
  if (link.verified === 1) return link
  throw new PlatformError('CONNECT_LINK_INVALID', { reason: 'unknown' })
}

const fieldsOf = ({ type }: ConnectPlan): ConnectField[] => {
  if (type === 'api_key') return [{ name: 'value', label: 'API key', isSecret: true }]
  if (type === 'bearer') return [{ name: 'value', label: 'Token', isSecret: true }]
  if (type !== 'basic') return []
  return [
    { name: 'username', label: 'User name', isSecret: false },
    { name: 'password', label: 'Password', isSecret: true },
  ]
}

/** Only shows what would happen. Previews of links open them, too, so nothing is bound to a browser yet. */
async function show(exchange: Exchange, link: ConnectLinkRow, { flows, publicUrl }: ConnectDeps): Promise<void> {
  const base = publicUrl()
  const browser = browserOf(exchange, base) ?? newBrowser()
  const plan = await flows.plan(link)
  const app = await nameOf(link, plan)
  const fields = fieldsOf(plan)
  const authority = fields.length > 0 ? undefined : await flows.authority(plan, link)
  const issuer = authority && new URL(authority.server.authorization_endpoint ?? authority.server.issuer)
  const facts = [
    ['Credentials are sent to', plan.origins.map((origin) => new URL(origin).host).join(', ')],
    ...(issuer ? [['You sign in at', issuer.host]] : []),
    ...(authority?.scopes ? [['Access', authority.scopes.join(', ')]] : []),
  ] as [string, string][]
  const body = connectPage({
    ...{ app, facts, fields },
    title: link.reason === 'insufficient_scope' ? `Allow more access to ${app}` : `Connect ${app}`,
    action: exchange.path,
    csrf: csrfOf(browser),
    button: issuer ? `Continue to ${issuer.host}` : 'Connect',
  })
  const targets = issuer ? ['https:', ...(issuer.protocol === 'http:' ? [issuer.origin] : [])] : []
  exchange.send(200, { ...pageHeaders(targets), 'set-cookie': browserCookie(browser, base) }, body)
}

async function submit(exchange: Exchange, link: ConnectLinkRow, deps: ConnectDeps): Promise<void> {
  const { flows, sessions, store, publicUrl } = deps
  const form = new URLSearchParams(textOf(await exchange.read(maxForm)))
  const browser = requireOwnForm(exchange, browserOf(exchange, publicUrl()), form.get('csrf'))
  const verifier = link.minted_by === 'platform' && link.verified === 0 ? await verifierOf(link, store) : undefined
  // Checked first, so that somebody else who opens the link does not use it up.
  if (verifier === undefined) await requireOpener(link, exchange, sessions)
  const bound = await flows.bind(link, browser)
  if (verifier !== undefined) return redirect(exchange, verifier)
  const plan = await flows.plan(bound)
  const fields = fieldsOf(plan)
  if (fields.length === 0) return redirect(exchange, await flows.begin(bound, plan))
  const entered = Object.fromEntries(fields.map(({ name }) => [name, form.get(name)?.trim() ?? '']))
  const missing = fields.find(({ name }) => entered[name] === '')
  if (missing) {
    const errors = [{ path: missing.name, message: 'is missing: fill in the form' }]
    throw new PlatformError('VALIDATION_FAILED', { errors })
  }
  const { username, ...secrets } = entered
  const settings = { ...plan.settings, ...(username !== undefined && { username }) }
  await flows.enter(bound, { ...plan, settings }, secrets, username ?? null)
  await sendDone(exchange, bound, username ?? null, deps)
}

/** The page of the application that knows who its user is. */
async function verifierOf({ id, project_id: projectId, owner }: ConnectLinkRow, store: Store) {
  const project = owner === 'project' ? undefined : await store.projects.find(projectId)
  if (!project?.verifier_url) return undefined
  const url = new URL(project.verifier_url)
  url.searchParams.set('flow_id', id)
  return url.href
}

async function finish(exchange: Exchange, deps: ConnectDeps): Promise<void> {
  const { flows, publicUrl } = deps
  const params = new URLSearchParams(exchange.query)
  const isRepeated = [...params.keys()].length !== new Set(params.keys()).size
  const state = params.get('state')
  if (exchange.query.length > maxQuery || isRepeated || state === null) {
    throw new PlatformError('CONNECT_STATE_INVALID', {})
  }
  const link = await flows.findReturn(state, browserOf(exchange, publicUrl()))
  const finished = await flows.finish(link, params)
  if (finished.kind === 'again') return redirect(exchange, finished.url)
  await sendDone(exchange, link, finished.row.account, deps)
}

async function sendDone(exchange: Exchange, link: ConnectLinkRow, account: string | null, { flows }: ConnectDeps) {
  if (link.return_url !== null) return redirect(exchange, link.return_url)
  exchange.send(200, pageHeaders(), donePage(await nameOf(link, await flows.plan(link)), account))
}

const nameOf = async ({ target }: ConnectLinkRow, { server }: ConnectPlan): Promise<string> =>
  readTarget(target).app ?? (server === undefined ? 'the tool' : new URL(server).host)

/** 303: the browser must not send the form to the other site. */
const redirect = (exchange: Exchange, location: string): void =>
  exchange.send(303, { ...pageHeaders(['https:']), location })

function sendProblem(exchange: Exchange, error: unknown, { log }: ConnectDeps): void {
  const known = toPlatformError(error, log)
  if (exchange.isAnswered) return
  const isSignIn = error instanceof PlatformError && error.code === 'CONNECT_WRONG_PERSON'
  exchange.send(known.status, pageHeaders(), (isSignIn ? signInPage : errorPage)(known.message))
}

/** Our client ID metadata document. Authorization servers fetch it to learn who asks. */
function sendDocument(exchange: Exchange, { publicUrl }: ConnectDeps): void {
  const base = publicUrl()
  const document = {
    client_id: `${base}/connect/client-metadata.json`,
    client_name: 'Quartermaster',
    client_uri: base,
    redirect_uris: [`${base}/connect/callback`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
  }
  sendJson(exchange, 200, JSON.stringify(document), { 'cache-control': 'public, max-age=3600' })
}
