import {
  createMcpHandler,
  type McpHttpHandler,
  McpServer,
  type McpServerFactory,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import type { SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import type { Logger } from 'pino'
import { evaluate } from '../../access/evaluate.ts'
import type { Keys } from '../../access/keys.ts'
import type { RateLimit } from '../../access/rate-limit.ts'
import type { Shelved } from '../../catalogue/shelf.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { isObject, type JsonObject } from '../../model/json.ts'
import { didYouMean } from '../../model/nearest.ts'
import type { Principal } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import type { Request as Asking, Parts } from '../../operations/operation.ts'
import { lineageHeader } from '../../tools/lineage.ts'
import { answerError } from '../answer.ts'
import { asking, bearer, clientOf } from '../asking.ts'
import { executeAction, readPayload, resolveActions } from './agent-mode.ts'
import { askedToWait } from './approvals.ts'
import { Cancelling, givenUp } from './cancelling.ts'
import { HeldCalls } from './held.ts'
import { readResult, toFittingResult } from './large-results.ts'
import { Listeners } from './listeners.ts'
import { Listed, type ListPage, pageOf } from './listing.ts'
import { answerCall, type Caller, type Connection, type Correspondence, type Incoming } from './live.ts'
import { callOperation, listOperations } from './management.ts'
import { faultOf, isAnswer, Questions } from './questions.ts'
import { Refused, readRequest } from './read-request.ts'
import { type ToolResult, toErrorResult } from './results.ts'
import { Sessions } from './session.ts'
import { endedBy, whileAllowed } from './shut-out.ts'
import { skillsExtension } from './skill-resources.ts'
import { introduceSkills, knowledgeIndex, loadSkill } from './skills.ts'
import { listTools } from './tool-list.ts'
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

/** Of a request's headers, those that say who asks and from where. */
type Sent = Readonly<
  Partial<
    Record<
      'authorization' | 'host' | 'origin' | 'user-agent' | 'mcp-session-id' | typeof lineageHeader,
      string | undefined
    >
  >
>

/** Who sends a request, as far as its headers tell without a look at anything else. */
export interface Sender {
  readonly token: string | undefined
  readonly client: Asking['client']
  readonly lineage: string | undefined
  readonly home: string | undefined
  /** The header by which it betrays a page in a browser that was tricked into calling us. */
  readonly foreign: 'Host' | 'Origin' | undefined
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
    const {
      authorization,
      host,
      'user-agent': userAgent,
      'mcp-session-id': session,
      [lineageHeader]: lineage,
    } = headers
    return {
      token: bearer(authorization),
      client: this.#correspondence.sessions.client(session) ?? clientOf(userAgent),
      lineage,
      home: host && `http://${host}`,
      foreign: findForeign(headers, this.#host.onLoopback),
    }
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
    const { closing, parts } = this.#host
    if (closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    if (sender.foreign) throw new PlatformError('FOREIGN_ORIGIN', { header: sender.foreign })
    const asker = this.#counted(await this.#authenticate(sender.token), sender)
    if (reference === undefined) return this.#management(asker)
    return this.#offered(asker, await parts.shelves.findServer(reference), reference)
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

  /** 401 without a key, 403 with one that is not valid. */
  async #authenticate(token: string | undefined): Promise<Principal> {
    try {
      return await this.#host.keys.authenticate(token)
    } catch (error) {
      if (!(error instanceof PlatformError) || token === undefined) throw error
      throw new PlatformError('KEY_REFUSED', {}, { cause: error })
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

  #management(asker: Asking): Offering {
    const context = { ...this.#host.parts, ...asker }
    return {
      key: 'the platform itself',
      principalId: asker.principal.id,
      info: { name: 'quartermaster', title: 'Quartermaster', version: this.#host.version },
      instructions: async () =>
        'Manages a Quartermaster: its tools, servers, skills, keys, documents and files, and the record of calls.',
      list: async (cursor) => pageOf(listOperations(context), (value) => new Listed(value), cursor),
      schemaOf: async () => undefined,
      skills: undefined,
      answer: (name, input, incoming, connection) => {
        const caller = { ...connection, principalId: asker.principal.id, endpoint: '', tool: name }
        return this.#answer(incoming, caller, (live) => callOperation(name, input, { ...context, live }))
      },
    }
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

/** What one caller finds at one endpoint. */
export interface Offering {
  readonly key: string
  readonly principalId: string
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  /** For the agent behind the client, at the start; may be empty. */
  instructions(): Promise<string>
  list(cursor: string | undefined): Promise<ListPage>
  /** Of the input of a tool, as the caller sees it. */
  schemaOf(tool: string): Promise<JsonObject | undefined>
  readonly skills: (() => SkillsExtension) | undefined
  answer(name: string, input: JsonObject, incoming: Incoming, connection: Connection): Promise<JsonObject>
}

type Answer = (incoming: Incoming, caller: Caller, call: (live: Live) => Promise<ToolResult>) => Promise<JsonObject>

class ServerOffering implements Offering {
  readonly #visit: Visit
  readonly #version: string
  readonly #answer: Answer

  constructor(visit: Visit, version: string, answer: Answer) {
    this.#visit = visit
    this.#version = version
    this.#answer = answer
  }

  get key(): string {
    return this.#visit.server.id
  }

  get principalId(): string {
    return this.#visit.principal.id
  }

  get info(): Offering['info'] {
    const { slug, name } = this.#visit.server
    return { name: slug, title: name, version: this.#version }
  }

  async instructions(): Promise<string> {
    const { retrieve_skill, description } = this.#visit.server
    const skills = retrieve_skill ? await introduceSkills(this.#visit) : undefined
    return [description, skills].filter((text) => text).join('\n\n')
  }

  list(cursor: string | undefined): Promise<ListPage> {
    return listTools(this.#visit, cursor)
  }

  async schemaOf(name: string): Promise<JsonObject | undefined> {
    return this.#visit.server.agent_mode ? undefined : (await this.#visit.find(name))?.offer.shown
  }

  get skills(): Offering['skills'] {
    return this.#visit.server.retrieve_skill ? () => skillsExtension(this.#visit) : undefined
  }

  answer(name: string, input: JsonObject, incoming: Incoming, { era, session }: Connection): Promise<JsonObject> {
    const caller = { era, session, principalId: this.principalId, endpoint: this.key, tool: name }
    return this.#answer(incoming, caller, (live) => callTool(this.#visit, name, input, live))
  }
}

const mayUse = (principal: Principal, { id, project_id: projectId, enabled }: Server): boolean =>
  enabled && evaluate(principal, 'servers:UseServer', { projectId, kind: 'server', id }).allowed

/** The SDK checks by the schema of the tool that is called what must be said of its input in headers too. */
class Protocol extends McpServer {
  calledSchema: JsonObject | undefined

  override toolInputSchemaJson(): JsonObject | undefined {
    return this.calledSchema
  }
}

function toProtocol(offering: Offering, instructions: string, connection: Connection, sessions: Sessions): Protocol {
  const capabilities = { tools: { listChanged: true }, logging: {} }
  const protocol = new Protocol(offering.info, { capabilities, ...(instructions && { instructions }) })
  const { server } = protocol
  server.setRequestHandler('tools/list', async ({ params }) => {
    const { tools, rest } = await offering.list(params?.cursor)
    return { tools: tools.map(({ value }) => value), ...rest } as never
  })
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, { mcpReq }) => {
    const { id, signal, _meta = {}, envelope, inputResponses, requestState, notify } = mcpReq
    const cancelling = new AbortController()
    signal.addEventListener('abort', () => cancelling.abort())
    const incoming: Incoming = {
      id,
      cancelling,
      meta: _meta as JsonObject,
      envelope: (envelope ?? {}) as JsonObject,
      inputResponses,
      requestState: requestState<string>(),
      notify: (message) => notify(message as never),
      ask: async (message) => server.transport?.send(message as never, { relatedRequestId: id }),
    }
    return (await offering.answer(name, input as JsonObject, incoming, connection)) as never
  })
  server.setRequestHandler('logging/setLevel', ({ params: { level } }) => {
    if (connection.session !== null) sessions.setLevel(connection.session, level)
    return {}
  })
  return protocol
}

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

/** A page in a browser that was tricked into calling us says so in its Host or Origin header. */
function findForeign({ host = '', origin }: Sent, onLoopback: boolean): Sender['foreign'] {
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(host)
  if (onLoopback && host !== '' && !isLocal) return 'Host'
  return origin !== undefined && origin !== 'null' && URL.parse(origin)?.host !== host ? 'Origin' : undefined
}

async function callTool(one: Visit, name: string, input: JsonObject, live: Live): Promise<ToolResult> {
  if (one.server.retrieve_skill && name === 'GET_KNOWLEDGE_INDEX')
    return one.aside(name, input, () => knowledgeIndex(input, one))
  if (one.server.retrieve_skill && name === 'LOAD_SKILL') return loadSkill(input, one)
  try {
    if (one.server.result_limit !== null && name === 'READ_RESULT')
      return await one.aside(name, input, () => readResult(input, one))
    if (one.server.agent_mode && name === 'RESOLVE_ACTIONS')
      return await one.aside(name, input, () => resolveActions(input, one))
    if (one.server.agent_mode && name === 'EXECUTE_ACTION') return await executeAction(input, one, live)
    // What is withheld is called like anything else: the door says why it is not.
    const shelved = one.server.agent_mode
      ? undefined
      : (one.known(name) ?? (await one.find(name)) ?? (await one.findWithheld(name)))
    if (!shelved) throw await unknownTool(name, one)
    return await toFittingResult(await one.call(shelved, unwrapped(input, shelved), live), one)
  } catch (error) {
    const asked = askedToWait(error, one.linkToApproval)
    if (asked) return asked
    const fault = faultOf(error, live)
    if (fault) throw fault
    if (error instanceof PlatformError) return toErrorResult(error)
    throw error
  }
}

/** Some agents send `{ input_payload: … }` where the fields themselves are asked for. */
function unwrapped(input: JsonObject, { offer }: Shelved): JsonObject {
  const isWrapped = Object.keys(input).length === 1 && Object.hasOwn(input, 'input_payload')
  const { properties } = offer.action.schema
  const isOwnField = isObject(properties) && Object.hasOwn(properties, 'input_payload')
  return isWrapped && !isOwnField ? readPayload(input.input_payload) : input
}

/** What is not in the catalogue of errors is logged whole and told to nobody. */
function toProtocolError(error: unknown, log: Logger): ProtocolError {
  if (error instanceof ProtocolError) return error
  const known = error instanceof PlatformError
  if (!known) log.error({ err: error }, 'a fault of the platform')
  const message = known ? error.message : 'Something went wrong inside the platform. The log has it.'
  return new ProtocolError(ProtocolErrorCode.InternalError, message)
}

async function unknownTool(name: string, one: Visit): Promise<ProtocolError> {
  const hint = one.server.agent_mode
    ? ' It is in agent mode: find actions with RESOLVE_ACTIONS, and run them with EXECUTE_ACTION.'
    : didYouMean(
        name,
        (await one.named()).map(([known]) => known),
      ) || ' tools/list shows those there are.'
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no tool "${name.slice(0, 200).toWellFormed()}" on this server.${hint}`,
  )
}
