import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import { isEmpty, isObject, type JsonObject } from '../../model/json.ts'
import { mentionsHeaders } from '../../tools/streamable.ts'
import { answerError } from '../answer.ts'
import { type Headers, type Lane, type Reply, sendResponse, whenGone } from '../lane.ts'
import { parseJson } from '../read-json.ts'
import type { McpEndpoints } from './endpoint.ts'
import type { Incoming } from './live.ts'
import type { Offering } from './offering.ts'
import { modern } from './read-request.ts'
import { print } from './results.ts'
import type { Sender } from './sender.ts'

/** A request that the lane understands to the last field. */
interface Plain {
  readonly id: string | number
  readonly isModern: boolean
  readonly session: string | null
  /** What the client sends along, and what a client of 2026 says of itself. */
  readonly meta: JsonObject
  readonly envelope: JsonObject
  readonly asks: { readonly call: string; readonly input: JsonObject } | { readonly list: string | undefined }
}

const route = /^\/mcp\/([\w-]+)$/

/**
 * The short way for the two requests that MCP clients make most, `tools/call` and `tools/list`, in both protocol eras and
 * without the SDK in between. It takes the plain case only: one request, with nothing unusual about it. Whatever else
 * comes, and whatever is wrong, is for the SDK to answer. Both ways end at the same offering, and so at the same door.
 */
export function mcpLane(endpoints: McpEndpoints, { bodyLimit, log }: { bodyLimit: number; log: Logger }): Lane {
  const serve = async (sender: Sender, reference: string, headers: Headers, body: Buffer, reply: Reply) => {
    try {
      const plain = readPlain(headers, body)
      if (!plain) return reply.handOn()
      const offering = endpoints.knownOffer(sender, reference) ?? (await endpoints.offer(sender, reference))
      if (plain.isModern && (await isMirrored(plain, offering))) {
        endpoints.uncount(offering)
        return reply.handOn()
      }
      await answer(plain, offering, new Answering(plain.id, reply))
    } catch (error) {
      const failed = answerError(error, log)
      if (reply.isStream) reply.end()
      else await sendResponse(reply, failed)
    }
  }
  return ({ path, headers }) => {
    const isFit = Number(headers['content-length']) <= bodyLimit && acceptsBoth.test(headers.accept ?? '')
    const reference = isFit ? route.exec(path)?.[1] : undefined
    if (reference === undefined) return undefined
    const sender = endpoints.readSender(headers)
    return (body, reply) => void serve(sender, reference, headers, body, reply)
  }
}

const acceptsBoth = /^(?=.*\bapplication\/json\b)(?=.*\btext\/event-stream\b)/

function readPlain(headers: Headers, body: Buffer): Plain | undefined {
  const message = parsed(body)
  if (!isObject(message) || message.jsonrpc !== '2.0' || !hasOnly(message, ofMessage)) return undefined
  const { id, method, params = {} } = message
  if (!isId(id) || !isObject(params)) return undefined
  const { _meta: said = {} } = params
  const asks = readAsk(method, params as JsonObject)
  if (!asks || !isObject(said)) return undefined
  const isModern = headers['mcp-protocol-version'] === modern
  const isFit = isModern
    ? isIntroduced(said as JsonObject) && areMirrored(headers, method as string, asks)
    : said[PROTOCOL_VERSION_META_KEY] === undefined && isOlder(headers['mcp-protocol-version'])
  if (!isFit) return undefined
  const { envelope, meta } = isModern ? parted(said as JsonObject) : { envelope: {}, meta: said as JsonObject }
  return { id, isModern, session: headers['mcp-session-id'] ?? null, meta, envelope, asks }
}

const ofMessage = new Set(['jsonrpc', 'id', 'method', 'params'])
const ofCall = new Set(['name', 'arguments', '_meta'])
const ofList = new Set(['cursor', 'arguments', '_meta'])

function hasOnly(object: object, names: ReadonlySet<string>): boolean {
  for (const name in object) if (!names.has(name)) return false
  return true
}

const isIntroduced = (meta: JsonObject): boolean =>
  meta[PROTOCOL_VERSION_META_KEY] === modern &&
  isObject(meta[CLIENT_INFO_META_KEY]) &&
  isObject(meta[CLIENT_CAPABILITIES_META_KEY])

const inEnvelope = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
])

/** What a client says of itself, and what it sends along. */
function parted(said: JsonObject): { envelope: JsonObject; meta: JsonObject } {
  const envelope: JsonObject = {}
  const meta: JsonObject = {}
  for (const [key, value] of Object.entries(said)) (inEnvelope.has(key) ? envelope : meta)[key] = value
  return { envelope, meta }
}

function parsed(body: Buffer): unknown {
  try {
    return parseJson(body.toString())
  } catch {
    return undefined
  }
}

const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id)

function readAsk(method: unknown, params: JsonObject): Plain['asks'] | undefined {
  const { name, arguments: input = {}, cursor } = params
  if (method === 'tools/call' && typeof name === 'string' && isObject(input) && hasOnly(params, ofCall)) {
    return { call: name, input: input as JsonObject }
  }
  const isList = method === 'tools/list' && isObject(input) && isEmpty(input) && hasOnly(params, ofList)
  return isList && (cursor === undefined || typeof cursor === 'string') ? { list: cursor } : undefined
}

/** In the new era headers repeat what the body says, for those who look at nothing else. */
function areMirrored(headers: Headers, method: string, asks: Plain['asks']): boolean {
  const name = 'call' in asks ? asks.call : undefined
  if (headers['mcp-method'] !== method || headers['mcp-name'] !== name) return false
  return !Object.keys(headers).some((header) => header.startsWith('mcp-param-'))
}

const isOlder = (version: string | undefined): boolean =>
  version === undefined || (version !== modern && SUPPORTED_PROTOCOL_VERSIONS.includes(version))

/** Of some tools fields of the input are repeated in headers, which the SDK checks. */
async function isMirrored({ asks }: Plain, offering: Offering): Promise<boolean> {
  if (!('call' in asks)) return false
  const schema = await offering.schemaOf(asks.call)
  return schema !== undefined && mentionsHeaders(schema)
}

/** One JSON answer; or, once there is something to say before it, a stream of events that ends with it. */
class Answering {
  readonly cancelling: AbortController
  readonly #start: string
  readonly #reply: Reply

  constructor(id: string | number, reply: Reply) {
    this.#start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`
    this.#reply = reply
    this.cancelling = whenGone(reply)
  }

  say(message: JsonObject): void {
    this.#reply.say(event(JSON.stringify({ jsonrpc: '2.0', ...message })))
  }

  end(result: string): void {
    this.#end(200, `"result":${result}`)
  }

  fail({ code, message, data }: ProtocolError, isModern: boolean): void {
    const status = isModern && code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200
    this.#end(status, `"error":${JSON.stringify({ code, message, data })}`)
  }

  #end(status: number, outcome: string): void {
    const text = `${this.#start}${outcome}}`
    if (this.#reply.isStream) this.#reply.end(event(text))
    else this.#reply.send(status, {}, text)
  }
}

const event = (data: string) => `event: message\ndata: ${data}\n\n`

async function answer(plain: Plain, offering: Offering, answering: Answering): Promise<void> {
  try {
    answering.end(await ('call' in plain.asks ? call(plain, offering, answering) : list(plain, offering)))
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    answering.fail(error, plain.isModern)
  }
}

async function call(plain: Plain, offering: Offering, answering: Answering): Promise<string> {
  const { asks, meta, envelope, isModern, session } = plain
  const { call: name, input } = asks as { call: string; input: JsonObject }
  const say = async (message: JsonObject) => answering.say(message)
  const incoming: Incoming = {
    id: plain.id,
    cancelling: answering.cancelling,
    meta,
    envelope,
    inputResponses: undefined,
    requestState: undefined,
    notify: say,
    ask: say,
  }
  const result = await offering.answer(name, input, incoming, { session, era: isModern ? 'modern' : 'legacy' })
  if (!isModern) return print(result)
  const { _meta = {} } = result
  return JSON.stringify({ resultType: 'complete', ...result, _meta: { ...signed(offering), ...(_meta as JsonObject) } })
}

async function list({ asks, isModern }: Plain, offering: Offering): Promise<string> {
  const { tools, rest } = await offering.list((asks as { list: string | undefined }).list)
  const more = JSON.stringify({ ...rest, ...(isModern && { resultType: 'complete', _meta: signed(offering) }) })
  return `{"tools":[${tools.map(({ text }) => text).join(',')}],${more.slice(1)}`
}

const signed = ({ info }: Offering): JsonObject => ({ [SERVER_INFO_META_KEY]: info })
