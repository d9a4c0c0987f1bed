import type { ServerResponse } from 'node:http'
import { errors, type Provider } from 'oidc-provider'
import { RateLimit } from '../../access/rate-limit.ts'
import { isObject } from '../../lib/json.ts'
import { readJson } from '../../server/body.ts'
import { toPlatformError } from '../../server/error-reply.ts'
import { type Exchange, sendJson } from '../../server/exchange.ts'
import { type NodeHandler, type NodeReply, runNodeHandler } from '../../server/node-handler.ts'
import { maxRedirects, normalized } from './clients.ts'
import { type InteractionDeps, Interactions } from './interaction.ts'
import { errorPage, pageHeaders } from './pages.ts'
import { interactionPath, routes } from './paths.ts'
import { createProvider, type ProviderDeps } from './provider.ts'
import { defaultScope, scopes } from './resources.ts'

export type AuthorizationServerDeps = ProviderDeps &
  Pick<InteractionDeps, 'findServer' | 'holders' | 'methods' | 'providers' | 'sessions'> & { readonly version: string }

const maxBody = 16 * 1024
/** Of all clients together, a minute. Ids cost nothing to keep, so this only bounds the work. */
const maxRegistrations = 300

interface Parts {
  readonly provider: Provider
  readonly interactions: Interactions
}

/** The built-in authorization server, with which editors and assistants connect without an API key. */
export class AuthorizationServer {
  readonly #deps: AuthorizationServerDeps
  readonly #registrations = new RateLimit(maxRegistrations)
  #parts: { readonly keys: unknown; readonly made: Promise<Parts> } | undefined

  constructor(deps: AuthorizationServerDeps) {
    this.#deps = deps
  }

  /** Errors before the provider takes over have the form that OAuth clients expect. */
  async handle(exchange: Exchange): Promise<void> {
    try {
      await this.#answer(exchange)
    } catch (error) {
      if (error instanceof errors.OIDCProviderError) {
        const { error: code, error_description, statusCode } = error
        return sendJson(exchange, statusCode, JSON.stringify({ error: code, error_description }), noStore)
      }
      const { status, message, headers } = toPlatformError(error, this.#deps.log)
      const code = status === 429 ? 'temporarily_unavailable' : status < 500 ? 'invalid_request' : 'server_error'
      sendJson(exchange, status, JSON.stringify({ error: code, error_description: message }), {
        ...noStore,
        ...headers,
      })
    }
  }

  #answer(exchange: Exchange): Promise<void> {
    const { method, path } = exchange
    if (path.startsWith('/.well-known/')) return this.#describe(exchange)
    if (path.startsWith(`${interactionPath}/`)) return this.#interact(exchange)
    if (path === routes.authorization) return this.#authorize(exchange)
    if (path === routes.registration && method === 'POST') return this.#register(exchange)
    return this.#pass(exchange)
  }

  /** The provider reads its keys once, so it is replaced when they change. Its state is in the database. */
  async #load(): Promise<Parts> {
    const keys = await this.#deps.keys.signing()
    if (this.#parts?.keys !== keys) this.#parts = { keys, made: this.#create() }
    const { made } = this.#parts
    return made.catch((error: unknown) => {
      if (this.#parts?.made === made) this.#parts = undefined
      throw error
    })
  }

  async #create(): Promise<Parts> {
    const provider = await createProvider({ ...this.#deps, fetch: this.#fetchDocument })
    const csrfKey = await this.#deps.keys.derive('csrf')
    return { provider, interactions: new Interactions({ ...this.#deps, provider, csrfKey }) }
  }

  /** The provider sends no user agent, which some hosts refuse, and brings a connection of its own, which skips the guard. */
  readonly #fetchDocument: typeof fetch = async (input, init) => {
    const { dispatcher: _, ...rest } = (init ?? {}) as RequestInit & { dispatcher?: unknown }
    const headers = new Headers(rest.headers)
    headers.set('user-agent', `quartermaster/${this.#deps.version}`)
    const response = await this.#deps.fetch(input, { ...rest, headers })
    return response.status === 200 ? normalizedDocument(response) : response
  }

  /** Metadata. The path of an issuer with a path comes last, which the provider does not know. */
  async #describe(exchange: Exchange): Promise<void> {
    const path = /^\/\.well-known\/[\w-]+/.exec(exchange.path)?.[0] ?? exchange.path
    const reply = await this.#ask(exchange, { path })
    if (reply.status !== 200) return sendReply(exchange, reply)
    const document = { ...JSON.parse(reply.body.toString()), scopes_supported: ['openid', 'offline_access', ...scopes] }
    sendReply(exchange, { ...reply, body: Buffer.from(JSON.stringify(document)) })
  }

  async #authorize(exchange: Exchange): Promise<void> {
    if (exchange.method !== 'POST') return this.#pass(exchange, { query: withScope(exchange.query) })
    const body = (await exchange.read(maxBody)).toString()
    await this.#pass(exchange, { body: Buffer.from(withScope(body)) })
  }

  async #register(exchange: Exchange): Promise<void> {
    this.#registrations.take('all', null)
    const body = await readJson(exchange, maxBody)
    if (!isObject(body)) throw new errors.InvalidClientMetadata('the body must be a JSON object')
    const { client_id: _, ...metadata } = normalized(body)
    if (Array.isArray(body.redirect_uris) && body.redirect_uris.length > maxRedirects) {
      throw new errors.InvalidClientMetadata(`at most ${maxRedirects} redirect_uris are allowed`)
    }
    await this.#pass(exchange, { body: Buffer.from(JSON.stringify(metadata)) })
  }

  async #interact(exchange: Exchange): Promise<void> {
    const { interactions } = await this.#load()
    const body = exchange.method === 'POST' ? await exchange.read(maxBody) : Buffer.alloc(0)
    const fields = new URLSearchParams(body.toString())
    const reply = await this.#run(exchange, { body }, async (request, response) => {
      try {
        await interactions.handle(exchange, { request, response }, fields)
      } catch (error) {
        this.#sendErrorPage(response, error)
      }
    })
    sendReply(exchange, reply)
  }

  #sendErrorPage(response: ServerResponse, error: unknown): void {
    const { publicUrl, log } = this.#deps
    const isKnown = error instanceof errors.OIDCProviderError
    const known = isKnown ? undefined : toPlatformError(error, log)
    const code = isKnown ? (error instanceof errors.SessionNotFound ? 'session_not_found' : error.error) : known?.code
    response.statusCode = isKnown ? error.statusCode : (known?.status ?? 500)
    for (const [name, value] of Object.entries(pageHeaders())) response.setHeader(name, value)
    response.end(errorPage(code ?? '', known?.message ?? '', publicUrl.path))
  }

  async #pass(exchange: Exchange, change: Change = {}): Promise<void> {
    sendReply(exchange, await this.#ask(exchange, change))
  }

  async #ask(exchange: Exchange, change: Change): Promise<NodeReply> {
    const { provider } = await this.#load()
    const body = change.body ?? (exchange.method === 'POST' ? await exchange.read(maxBody) : Buffer.alloc(0))
    return this.#run(exchange, { ...change, body }, provider.callback())
  }

  #run(
    exchange: Exchange,
    { path = exchange.path, query = exchange.query, body = Buffer.alloc(0) }: Change,
    handler: NodeHandler,
  ): Promise<NodeReply> {
    const { origin, path: mountPath } = this.#deps.publicUrl
    return runNodeHandler(exchange, { origin, mountPath, path, query, body }, handler)
  }
}

function sendReply(exchange: Exchange, { status, headers, cookies, body }: NodeReply): void {
  for (const cookie of cookies) exchange.addCookie(cookie)
  exchange.send(status, headers, body)
}

/** What the provider sees instead of what was sent. */
interface Change {
  readonly path?: string
  readonly query?: string
  readonly body?: Buffer
}

const noStore = { 'cache-control': 'no-store' }

/** Clients leave the scope out, or ask for scopes of other systems. They all want to use the server. */
function withScope(text: string): string {
  const params = new URLSearchParams(text)
  const asked = params.getAll('scope')
  if (asked.length > 1) return text
  const known = (asked[0] ?? '').split(' ').filter((scope) => knownScopes.includes(scope))
  const hasOwn = known.some((scope) => (scopes as readonly string[]).includes(scope))
  params.set('scope', [...known, ...(hasOwn ? [] : [defaultScope])].join(' '))
  return params.toString()
}

const knownScopes: readonly string[] = ['openid', ...scopes]

/** Metadata of a client, as we accept it. Other documents, such as keys, are as they were. */
async function normalizedDocument(response: Response): Promise<Response> {
  const text = await response.text()
  const document = parsed(text)
  const isMetadata = isObject(document) && 'client_id' in document
  const body = isMetadata ? JSON.stringify({ ...forbidden(document), ...normalized(document) }) : text
  return new Response(body, { status: 200, headers: cachingOf(response) })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Kept, so that the provider refuses the document because of them. */
const forbidden = (document: Record<string, unknown>) =>
  Object.fromEntries(
    ['client_secret', 'client_secret_expires_at']
      .filter((name) => name in document)
      .map((name) => [name, document[name]]),
  )

const cachingOf = ({ headers }: Response): Record<string, string> => ({
  'content-type': 'application/json',
  ...(headers.get('cache-control') && { 'cache-control': headers.get('cache-control') as string }),
})
