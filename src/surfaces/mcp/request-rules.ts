import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  isJsonContentType,
  PROTOCOL_VERSION_META_KEY,
  ProtocolErrorCode,
  SUPPORTED_PROTOCOL_VERSIONS,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { inWords } from '../../model/errors.ts'
import { faultsOf } from '../../model/faults.ts'
import type { Exchange, RequestHeaders } from '../../server/exchange.ts'
import { decodeHeader } from './mirrored-params.ts'

/** The first version of the 2026 protocol. */
export const modern = '2026-07-28'

/** A JSON-RPC error and its HTTP status. */
export interface Refusal {
  readonly status: number
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

export const isRefusal = (value: object): value is Refusal => 'status' in value

export function sendRefusal(exchange: Exchange, { status, code, message, data }: Refusal, id: unknown = null): void {
  const text = JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } })
  exchange.send(status, { 'content-type': 'application/json' }, text)
}

/** A valid request. */
export interface Message {
  readonly id: string | number
  readonly method: string
  readonly params: JsonObject
  readonly isModern: boolean
}

/** Undefined for anything but a single request, such as a notification, a response or a batch. */
export function asMessage(body: unknown, headers: RequestHeaders): Message | undefined {
  if (!isObject(body) || body.jsonrpc !== '2.0' || typeof body.method !== 'string') return undefined
  const { id, method, params = {} } = body
  if ((typeof id !== 'string' && !Number.isSafeInteger(id)) || !isObject(params)) return undefined
  const isModern =
    headers['mcp-protocol-version'] === modern ||
    (isObject(params._meta) && params._meta[PROTOCOL_VERSION_META_KEY] !== undefined)
  return { id: id as string | number, method, params, isModern }
}

/** Protocol errors that do not depend on the parameters. The rules are those of the SDK. */
export const findProtocolFault = (message: Message, headers: RequestHeaders): Refusal | undefined =>
  isJsonContentType(headers['content-type'] ?? null)
    ? message.isModern
      ? findModernFault(message, headers)
      : findLegacyFault(headers)
    : { status: 415, code: -32000, message: 'Unsupported Media Type: Content-Type must be application/json' }

function findLegacyFault({ accept = '', 'mcp-protocol-version': version }: RequestHeaders): Refusal | undefined {
  if (!accept.includes('application/json') || !accept.includes('text/event-stream')) {
    const message = 'Not Acceptable: Client must accept both application/json and text/event-stream'
    return { status: 406, code: -32000, message }
  }
  if (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return undefined
  const supported = SUPPORTED_PROTOCOL_VERSIONS.join(', ')
  const message = `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported})`
  return { status: 400, code: -32000, message }
}

/** On the 2026 protocol, each request identifies its client, and headers mirror the body. */
function findModernFault({ id, method, params }: Message, headers: RequestHeaders): Refusal | undefined {
  const meta = isObject(params._meta) ? params._meta : {}
  const claimed = meta[PROTOCOL_VERSION_META_KEY]
  const { 'mcp-protocol-version': version, 'mcp-method': named } = headers
  const isIntroduced =
    claimed === modern && isObject(meta[CLIENT_INFO_META_KEY]) && isObject(meta[CLIENT_CAPABILITIES_META_KEY])
  if (!isIntroduced || version !== modern || named !== method) {
    const outcome = classifyInboundRequest({
      httpMethod: 'POST',
      body: { jsonrpc: '2.0', id, method, params },
      ...(version !== undefined && { protocolVersionHeader: version }),
      ...(named !== undefined && { mcpMethodHeader: named }),
    })
    if (outcome.kind === 'reject') {
      return { status: outcome.httpStatus, code: outcome.code, message: outcome.message, data: outcome.data }
    }
    if (claimed !== modern) {
      const error = new UnsupportedProtocolVersionError({ supported: [modern], requested: String(claimed) })
      return { status: 400, code: error.code, message: error.message, data: error.data }
    }
    if (version === undefined) {
      const said = `the body envelope names protocol version ${modern} but the required MCP-Protocol-Version header is absent`
      return headerMismatch('(missing)', said)
    }
    if (named === undefined) {
      return headerMismatch('(missing)', `the body names method ${method} but the required Mcp-Method header is absent`)
    }
  }
  return method === 'tools/call' ? findNameFault(params.name, headers['mcp-name']) : undefined
}

function findNameFault(name: unknown, header: string | undefined): Refusal | undefined {
  if (typeof name !== 'string' || header === name) return undefined
  if (header === undefined) {
    return headerMismatch(
      '(missing)',
      `the body carries params.name="${name}" but the required Mcp-Name header is absent`,
    )
  }
  const decoded = decodeHeader(header)
  if (decoded === undefined) {
    return headerMismatch(header, 'the Mcp-Name header carries an invalid Base64 sentinel value')
  }
  if (decoded === name) return undefined
  return headerMismatch(header, `the body carries params.name="${name}" but the Mcp-Name header names "${decoded}"`)
}

/** The SDK does not export the specification's code for this. */
export const headerMismatch = (header: string, body: string): Refusal => ({
  status: 400,
  code: -32020,
  message: `Bad Request: the request headers and body disagree: ${body}`,
  data: { mismatch: { header, body } },
})

const Params: Readonly<Record<string, z.ZodType>> = {
  initialize: z.looseObject({
    protocolVersion: z.string(),
    capabilities: z.looseObject({}),
    clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
  }),
  'tools/list': z.looseObject({ cursor: z.string().optional() }),
  'tools/call': z.looseObject({ name: z.string(), arguments: z.looseObject({}).optional() }),
  'resources/list': z.looseObject({ cursor: z.string().optional() }),
  'resources/templates/list': z.looseObject({ cursor: z.string().optional() }),
  'resources/read': z.looseObject({ uri: z.string() }),
  'prompts/list': z.looseObject({ cursor: z.string().optional() }),
  'prompts/get': z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.string()).optional() }),
  'completion/complete': z.looseObject({
    ref: z.looseObject({ type: z.enum(['ref/prompt', 'ref/resource']) }),
    argument: z.looseObject({ name: z.string(), value: z.string() }),
  }),
}

/** What is wrong with the parameters, as a sentence. The SDK would print its schema. */
export function findParamsFault({ method, params, isModern }: Message): Refusal | undefined {
  // The 2026 protocol has no `initialize`.
  if (!Object.hasOwn(Params, method) || (isModern && method === 'initialize')) return undefined
  const { error } = (Params[method] as z.ZodType).safeParse(params)
  if (!error) return undefined
  const message = `The parameters of ${method} are not valid: ${inWords(faultsOf(error))}.`
  return { status: 200, code: ProtocolErrorCode.InvalidParams, message }
}
