import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { encodeEvent } from '../../lib/server-sent-event.ts'
import { streamHeaders } from '../../server/event-stream.ts'
import { type Exchange, type ReplyStream, sendJson } from '../../server/exchange.ts'
import type { Conversations } from './conversations.ts'
import { findMismatch } from './mirrored-params.ts'
import { findParamsFault, findProtocolFault, headerMismatch, type Message, sendRefusal } from './request-rules.ts'
import { print } from './results.ts'
import type { McpServerView } from './server-view.ts'
import { clientNameOf } from './sessions.ts'

/**
 * Handles `tools/call` and `tools/list`, nearly all MCP traffic, for both protocol versions: JSON in, dispatch, JSON
 * out. The SDK handles every other method; it would take ten times as long for these.
 */
export const isToolsMethod = (method: string): boolean => method === 'tools/call' || method === 'tools/list'

export async function answerTools(
  message: Message,
  view: McpServerView,
  conversations: Conversations,
  exchange: Exchange,
): Promise<void> {
  const { id, method, params } = message
  const fault = findProtocolFault(message, exchange.headers) ?? findFieldFault(message) ?? undefined
  if (fault) return sendRefusal(exchange, fault, id)
  const reply = new Reply(id, exchange)
  try {
    if (method === 'tools/list') return reply.end(await list(message, view))
    const mismatch = message.isModern && (await findParamMismatch(params, view, exchange))
    if (mismatch) return sendRefusal(exchange, headerMismatch(mismatch.header, mismatch.body), id)
    reply.end(await call(message, view, conversations, reply))
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    reply.fail(error, message.isModern)
  }
}

/** A fast path for valid requests. Only invalid ones are parsed with the schema, for its message. */
function findFieldFault(message: Message) {
  const { method, params } = message
  const { name, arguments: input, cursor } = params
  const isFine =
    method === 'tools/call'
      ? typeof name === 'string' && (input === undefined || isObject(input))
      : cursor === undefined || typeof cursor === 'string'
  return isFine ? undefined : findParamsFault(message)
}

/** A tool may require that headers mirror some of its input fields. */
async function findParamMismatch({ name, arguments: input = {} }: JsonObject, view: McpServerView, exchange: Exchange) {
  const schema = await view.schemaOf(name as string)
  return schema && findMismatch(schema, input as JsonObject, exchange.headers)
}

async function list({ params, isModern }: Message, view: McpServerView): Promise<string> {
  const { tools, rest } = await view.list(params.cursor as string | undefined)
  const more = JSON.stringify({ ...rest, ...(isModern && { resultType: 'complete', _meta: signature(view) }) })
  return `{"tools":[${tools.map(({ text }) => text).join(',')}],${more.slice(1)}`
}

async function call(
  { id, params, isModern }: Message,
  view: McpServerView,
  conversations: Conversations,
  reply: Reply,
): Promise<string> {
  const { name, arguments: input = {}, _meta, inputResponses, requestState } = params
  const tool = name as string
  const said = isObject(_meta) ? _meta : {}
  const { envelope, meta } = isModern ? partsOf(said) : { envelope: {}, meta: said }
  const say = async (message: JsonObject) => reply.say(message)
  const incoming = {
    id,
    signal: reply.signal,
    cancel: () => reply.cancel(),
    meta,
    envelope,
    inputResponses: isModern ? acceptedResponses(inputResponses) : undefined,
    requestState: isModern && typeof requestState === 'string' ? requestState : undefined,
    notify: say,
    ask: say,
  }
  const caller = {
    era: isModern ? ('modern' as const) : ('legacy' as const),
    session: reply.session,
    principalId: view.principalId,
    endpoint: view.key,
    tool,
  }
  const client = isModern ? clientNameOf(envelope[CLIENT_INFO_META_KEY]) : undefined
  const result = await conversations.call(incoming, caller, (live) =>
    view.call(tool, input as JsonObject, live, client),
  )
  if (!isModern) return print(result)
  const own = { ...signature(view), ...(isObject(result._meta) && result._meta) }
  return JSON.stringify({ resultType: 'complete', ...result, _meta: own })
}

const inEnvelope = new Set<string>([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
])

/** Splits `_meta` into what a 2026 client declares about itself and the rest. */
function partsOf(said: JsonObject): { envelope: JsonObject; meta: JsonObject } {
  const envelope: JsonObject = {}
  const meta: JsonObject = {}
  for (const [key, value] of Object.entries(said)) (inEnvelope.has(key) ? envelope : meta)[key] = value
  return { envelope, meta }
}

/** Responses must be bare results. A wrapped one is ignored, so its request is sent again. */
function acceptedResponses(responses: unknown): JsonObject | undefined {
  if (!isObject(responses)) return undefined
  const isBare = ([, one]: [string, unknown]) => isObject(one) && !('method' in one) && !('result' in one)
  return Object.fromEntries(Object.entries(responses).filter(isBare))
}

const signature = ({ info }: McpServerView): JsonObject => ({ [SERVER_INFO_META_KEY]: info })

/** One JSON reply, or an event stream that ends with it if messages have to be sent first. */
class Reply {
  readonly session: string | null
  readonly #id: string | number
  readonly #exchange: Exchange
  #stream: ReplyStream | undefined

  constructor(id: string | number, exchange: Exchange) {
    this.#id = id
    this.#exchange = exchange
    this.session = exchange.headers['mcp-session-id'] ?? null
  }

  get signal(): AbortSignal {
    return this.#exchange.gone
  }

  cancel(): void {
    this.#exchange.abandon()
  }

  say(message: JsonObject): void {
    this.#stream ??= this.#exchange.stream(200, streamHeaders)
    this.#stream.write(event(JSON.stringify({ jsonrpc: '2.0', ...message })))
  }

  end(result: string): void {
    this.#end(200, `"result":${result}`)
  }

  fail({ code, message, data }: ProtocolError, isModern: boolean): void {
    const status = isModern && code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200
    this.#end(status, `"error":${JSON.stringify({ code, message, data })}`)
  }

  #end(status: number, outcome: string): void {
    const text = `{"jsonrpc":"2.0","id":${JSON.stringify(this.#id)},${outcome}}`
    if (this.#stream) this.#stream.end(event(text))
    else sendJson(this.#exchange, status, text)
  }
}

const event = (data: string) => encodeEvent(data, { name: 'message' })
