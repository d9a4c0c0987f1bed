import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  SERVER_INFO_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import { isObject, type JsonObject } from '../../model/json.ts'
import { answerError } from '../answer.ts'
import { handOn, hasPlainJson, type Lane, readBody, write, writeResponse } from '../lane.ts'
import { parseJson } from '../read-json.ts'
import type { McpEndpoints, Offering } from './endpoint.ts'

const modern = '2026-07-28'

/** A request that the lane understands to the last field. */
interface Plain {
  readonly id: string | number
  readonly isModern: boolean
  /** What the client sends along beside what the protocol itself asks for. */
  readonly meta: JsonObject
  readonly asks: { readonly call: string; readonly input: JsonObject } | { readonly list: string | undefined }
}

const route = /^\/mcp\/([\w-]+)$/

/**
 * The short way for the two requests that MCP clients make most, `tools/call` and `tools/list`, in both protocol eras and
 * without the SDK in between. It takes the plain case only: one request, nothing about it that is unusual, no progress
 * to be told while it runs. Whatever else comes, and whatever is wrong, is for the SDK to answer. Both ways end at the
 * same offering, and so at the same door.
 */
export function mcpLane(endpoints: McpEndpoints, { bodyLimit, log }: { bodyLimit: number; log: Logger }): Lane {
  const serve = async (reference: string, request: IncomingMessage, response: ServerResponse, longWay: () => void) => {
    try {
      const body = await readBody(request)
      const plain = readPlain(request.headers, body)
      if (!plain) return handOn(request, body, longWay)
      const offering = await endpoints.offer(request.headers, reference)
      write(response, 200, {}, await answer(plain, offering, response))
    } catch (error) {
      await writeResponse(response, answerError(error, log))
    }
  }
  return (request, response, longWay) => {
    const isPlain = hasPlainJson(request, bodyLimit) && acceptsBoth.test(request.headers.accept ?? '')
    const reference = isPlain ? route.exec(request.url ?? '')?.[1] : undefined
    if (reference === undefined) return false
    void serve(reference, request, response, longWay)
    return true
  }
}

const acceptsBoth = /^(?=.*\bapplication\/json\b)(?=.*\btext\/event-stream\b)/

function readPlain(headers: IncomingHttpHeaders, body: Buffer): Plain | undefined {
  const message = parsed(body)
  if (!isObject(message) || message.jsonrpc !== '2.0' || !isId(message.id)) return undefined
  const { id, method, params = {}, jsonrpc: _, ...more } = message as JsonObject & { id: string | number }
  if (!isObject(params) || Object.keys(more).length > 0) return undefined
  const { _meta = {}, ...own } = params as JsonObject
  const asks = readAsk(method, own)
  if (!asks || !isObject(_meta) || Object.hasOwn(_meta, 'progressToken')) return undefined
  const {
    [PROTOCOL_VERSION_META_KEY]: version,
    [CLIENT_INFO_META_KEY]: client,
    [CLIENT_CAPABILITIES_META_KEY]: capabilities,
    ...meta
  } = _meta as JsonObject
  const isModern = headers['mcp-protocol-version'] === modern
  const fits = isModern
    ? version === modern && isObject(client) && isObject(capabilities) && areMirrored(headers, method as string, asks)
    : version === undefined && isOlder(headers['mcp-protocol-version'])
  return fits ? { id, isModern, meta, asks } : undefined
}

function parsed(body: Buffer): unknown {
  try {
    return parseJson(body.toString())
  } catch {
    return undefined
  }
}

const isId = (id: unknown) => typeof id === 'string' || Number.isSafeInteger(id)

function readAsk(
  method: unknown,
  { name, arguments: input = {}, cursor, ...more }: JsonObject,
): Plain['asks'] | undefined {
  if (Object.keys(more).length > 0) return undefined
  if (method === 'tools/call' && typeof name === 'string' && isObject(input) && cursor === undefined) {
    return { call: name, input: input as JsonObject }
  }
  const isList = method === 'tools/list' && name === undefined && Object.keys(input as object).length === 0
  return isList && (cursor === undefined || typeof cursor === 'string') ? { list: cursor } : undefined
}

/** In the new era headers repeat what the body says, for those who look at nothing else. */
function areMirrored(headers: IncomingHttpHeaders, method: string, asks: Plain['asks']): boolean {
  const name = 'call' in asks ? asks.call : undefined
  if (headers['mcp-method'] !== method || headers['mcp-name'] !== name) return false
  return !Object.keys(headers).some((header) => header.startsWith('mcp-param-'))
}

const isOlder = (version: string | string[] | undefined): boolean =>
  version === undefined || (version !== modern && SUPPORTED_PROTOCOL_VERSIONS.includes(version as string))

async function answer(plain: Plain, offering: Offering, response: ServerResponse): Promise<string> {
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(plain.id)}`
  try {
    return `${start},"result":${await ('call' in plain.asks ? call(plain, offering, response) : list(plain, offering))}}`
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    const { code, message, data } = error
    return `${start},"error":${JSON.stringify({ code, message, data })}}`
  }
}

async function call({ asks, meta, isModern }: Plain, offering: Offering, response: ServerResponse): Promise<string> {
  const { call: name, input } = asks as { call: string; input: JsonObject }
  const left = new AbortController()
  response.once('close', () => {
    if (!response.writableEnded) left.abort()
  })
  const result = await offering.call(name, input, { signal: left.signal, meta })
  if (!isModern) return JSON.stringify(result)
  const { _meta = {} } = result
  return JSON.stringify({ ...result, resultType: 'complete', _meta: { ...signed(offering), ...(_meta as JsonObject) } })
}

async function list({ asks, isModern }: Plain, offering: Offering): Promise<string> {
  const { tools, rest } = await offering.list((asks as { list: string | undefined }).list)
  const more = JSON.stringify({ ...rest, ...(isModern && { resultType: 'complete', _meta: signed(offering) }) })
  return `{"tools":[${tools.map(({ text }) => text).join(',')}],${more.slice(1)}`
}

const signed = ({ info }: Offering): JsonObject => ({ [SERVER_INFO_META_KEY]: info })
