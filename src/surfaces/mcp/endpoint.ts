import { createMcpHandler, type McpHttpHandler, type McpServerFactory } from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import { evaluate } from '../../access/evaluate.ts'
import type { Keys } from '../../access/keys.ts'
import type { RateLimit } from '../../access/rate-limit.ts'
import { PlatformError } from '../../model/errors.ts'
import { isObject, type JsonObject } from '../../model/json.ts'
import type { Principal } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import type { Request as Asking, Parts } from '../../operations/operation.ts'
import { answerError } from '../answer.ts'
import { asking } from '../asking.ts'
import { Cancelling, givenUp } from './cancelling.ts'
import { HeldCalls } from './held.ts'
import { Listeners } from './listeners.ts'
import { answerCall, type Correspondence } from './live.ts'
import { type Answer, managementOffering, type Offering, ServerOffering } from './offering.ts'
import { toProtocol, toProtocolError } from './protocol.ts'
import { isAnswer, Questions } from './questions.ts'
import { Refused, readRequest } from './read-request.ts'
import { readSender, type Sender, type Sent } from './sender.ts'
import { Sessions } from './session.ts'
import { endedBy, whileAllowed } from './shut-out.ts'
import { Visit } from './visit.ts'

export interface McpParts {
  readonly parts: Parts
  readonly keys: Keys
  readonly rateLimit: RateLimit
  readonly log: Logger
  readonly version: string
  readonly bodyLimit: number
  /** Whether only this machine can reach the platform, so that a foreign Host header means a tricked browser. */
  readonly onLoopback: boolean
  readonly closing: AbortSignal
}

/** The MCP endpoints at /mcp/{server}: stateless, in both protocol eras. */
export class McpEndpoints {
  readonly #host: McpParts
  readonly #handlers = new Map<string, McpHttpHandler>()
  #inFlight = 0
  /** Told when the last call in flight is answered. */
  #onIdle = () => {}
  readonly #listeners = new Listeners()
  readonly #correspondence: Correspondence

  constructor(host: McpParts) {
    this.#host = host
    this.#correspondence = {
      sessions: new Sessions(),
      questions: new Questions(),
      held: new HeldCalls(),
      cancelling: new Cancelling(host.parts.store.notices),
    }
    const tellTools = () => {
      this.#listeners.tell('notifications/tools/list_changed')
      for (const handler of this.#handlers.values()) handler.notify.toolsChanged()
    }
    const tellSkills = () => {
      this.#listeners.tell('notifications/resources/list_changed')
      for (const handler of this.#handlers.values()) handler.notify.resourcesChanged()
    }
    host.parts.catalogue.onChange(tellTools)
    host.parts.store.notices.hear('servers', tellTools)
    host.parts.store.notices.hear('servers', tellSkills)
    // Which tools a key may use is in its policies, and which policies those are, in the key.
    host.parts.store.notices.hear('access_policies', tellTools)
    host.parts.store.notices.hear('api_keys', tellTools)
    host.parts.store.notices.hear('skills', tellSkills)
  }

  /** Without a server: the platform itself. */
  async fetch(request: Request, reference: string | undefined): Promise<Response> {
    try {
      const offer = await this.offer(this.readSender(Object.fromEntries(request.headers)), reference)
      const watch = (end: () => void) => this.#whenShutOut(offer.principalId, reference, end)
      if (listens(request)) return endedBy(watch, this.#listeners.open())
      const parsedBody = await readRequest(request, this.#host.bodyLimit)
      if (parsedBody instanceof Refused) return parsedBody.response
      const session = request.headers.get('mcp-session-id')
      const isOlder = session !== null || !request.headers.has('mcp-protocol-version')
      if (isOlder && isAnswer(parsedBody)) return this.#hear(offer.principalId, parsedBody)
      const id = isOlder ? givenUp(parsedBody) : undefined
      if (id !== undefined)
        await this.#correspondence.cancelling.cancel({ principalId: offer.principalId, session, id })
      const authInfo = {
        token: '',
        clientId: offer.principalId,
        scopes: [],
        extra: { offer, begins: begins(parsedBody) },
      }
      const options = { authInfo, ...(parsedBody !== undefined && { parsedBody }) }
      const response = await this.#handlerOf(offer.key).fetch(request, options)
      if (subscribes(request)) return endedBy(watch, response)
      return this.#introduced(response, parsedBody)
    } catch (error) {
      return answerError(error, this.#host.log)
    }
  }

  readSender(headers: Sent): Sender {
    return readSender(headers, this.#correspondence.sessions, this.#host.onLoopback)
  }

  /** What a sender finds at a server, where the key and the server are in memory; undefined where they are not. */
  knownOffer(sender: Sender, reference: string): Offering | undefined {
    const { keys, parts } = this.#host
    const principal = keys.known(sender.token)
    const server = parts.shelves.knownServer(reference)
    if (!principal || !server || this.#host.closing.aborted || sender.foreign) return undefined
    return this.#offered(this.#counted(principal, sender), server, reference)
  }

  /** What a sender finds here; throws for those who are not let in. */
  async offer(sender: Sender, reference: string | undefined): Promise<Offering> {
    const { closing, parts, version } = this.#host
    if (closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    if (sender.foreign) throw new PlatformError('FOREIGN_ORIGIN', { header: sender.foreign })
    const asker = this.#counted(await this.#host.keys.authenticate(sender.token), sender)
    if (reference === undefined) return managementOffering({ ...parts, ...asker }, version, this.#answer)
    return this.#offered(asker, await parts.shelves.findServer(reference), reference)
  }

  /** The long way counts it again. */
  uncount({ principalId }: Offering): void {
    this.#host.rateLimit.giveBack(principalId)
  }

  /** What a caller of 2025 answers to a question that one of its calls has put. */
  #hear(principalId: string, answer: JsonObject): Response {
    if (!this.#correspondence.questions.answer(principalId, answer)) throw new PlatformError('ANSWER_NOT_AWAITED', {})
    return new Response(null, { status: 202 })
  }

  /** A caller of 2025 is given a session whose id says what it can be asked. */
  #introduced(response: Response, body: unknown): Response {
    if (!isObject(body) || body.method !== 'initialize' || !response.ok) return response
    const headers = new Headers(response.headers)
    const { capabilities, clientInfo } = isObject(body.params) ? body.params : {}
    headers.set('mcp-session-id', this.#correspondence.sessions.idFor(capabilities, clientInfo))
    return new Response(response.body, { status: response.status, headers })
  }

  /** Ends the streams of those who listen, once the calls in flight are answered: nothing else would end them. */
  async drain(): Promise<void> {
    // Answers are not taken any more, so nobody need wait for one.
    this.#correspondence.questions.close()
    this.#correspondence.held.close()
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    // The answers of the last calls are on their way out.
    await new Promise((resolve) => setTimeout(resolve, 50))
    await this.close()
  }

  async close(): Promise<void> {
    this.#listeners.close()
    this.#correspondence.questions.close()
    this.#correspondence.held.close()
    await Promise.all([...this.#handlers.values()].map((handler) => handler.close()))
  }

  async #tracked<T>(work: Promise<T>): Promise<T> {
    this.#inFlight++
    try {
      return await work
    } catch (error) {
      throw toProtocolError(error, this.#host.log)
    } finally {
      if (--this.#inFlight === 0) this.#onIdle()
    }
  }

  /** The one who asks, counted against the limit of its key. */
  #counted(principal: Principal, { client, lineage, home }: Sender): Asking {
    const { parts, rateLimit } = this.#host
    rateLimit.take(principal.id, principal.rateLimit)
    const descent = lineage === undefined ? undefined : parts.reach.lineage.read(lineage)
    return { ...asking(principal, 'mcp', client), home, ...descent }
  }

  /** 404 for a server that is off, or not for this key. */
  #offered(asker: Asking, server: Server | undefined, reference: string): Offering {
    if (!server || !mayUse(asker.principal, server)) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'server', id: reference })
    }
    const { parts, version } = this.#host
    return new ServerOffering(new Visit(server, asker, parts), version, this.#answer)
  }

  /**
   * Tells when a caller who listens would not be let in any more: its key is gone, or may not use the server, or the
   * server is gone. Not at every change, as a client of 2026 whose stream ends does not ask for another.
   */
  #whenShutOut(principalId: string, reference: string | undefined, tell: () => void): () => void {
    const { keys, parts } = this.#host
    return whileAllowed(principalId, { keys, notices: parts.store.notices }, tell, async (principal) => {
      const server = reference === undefined ? undefined : await parts.shelves.findServer(reference)
      return reference === undefined || (server !== undefined && mayUse(principal, server))
    })
  }

  readonly #answer: Answer = (incoming, caller, call) =>
    answerCall(incoming, caller, this.#correspondence, (live) => this.#tracked(call(live)))

  #handlerOf(key: string): McpHttpHandler {
    let handler = this.#handlers.get(key)
    if (!handler) {
      const make: McpServerFactory = async ({ era, authInfo, requestInfo }) => {
        const offer = authInfo?.extra?.offer as Offering
        const session = requestInfo?.headers.get('mcp-session-id') ?? null
        const connection = { era, session }
        const called = requestInfo?.headers.get('mcp-name')
        const isCall = requestInfo?.headers.get('mcp-method') === 'tools/call'
        const instructions = authInfo?.extra?.begins ? await offer.instructions() : ''
        const protocol = toProtocol(offer, instructions, connection, this.#correspondence.sessions)
        if (!isCall) offer.skills?.().attach(protocol)
        else if (called) protocol.calledSchema = await offer.schemaOf(called)
        return protocol
      }
      handler = createMcpHandler(make, {
        maxRequestBodySize: this.#host.bodyLimit,
        onerror: (err) => this.#host.log.debug({ err }, 'mcp'),
      })
      this.#handlers.set(key, handler)
    }
    return handler
  }
}

const mayUse = (principal: Principal, { id, project_id: projectId, enabled }: Server): boolean =>
  enabled && evaluate(principal, 'servers:UseServer', { projectId, kind: 'server', id }).allowed

/** Whether a client asks who is there, and is to be told what an agent should know at the start. */
const begins = (body: unknown): boolean =>
  (Array.isArray(body) ? body : [body]).some(
    (one) => isObject(one) && (one.method === 'initialize' || one.method === 'server/discover'),
  )

/** A caller of 2025 opens a stream to hear of changes. */
const listens = ({ method, headers }: Request): boolean =>
  method === 'GET' && (headers.get('accept') ?? '').includes('text/event-stream')

/** And one of 2026 asks for one. */
const subscribes = ({ headers }: Request): boolean => headers.get('mcp-method') === 'subscriptions/listen'
