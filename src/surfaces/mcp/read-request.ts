import { ProtocolErrorCode, readRequestBody, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { inWords } from '../../model/errors.ts'
import { faultsOf } from '../../model/faults.ts'
import { excessOf, isObject } from '../../model/json.ts'

/** The revision that began the new era. */
export const modern = '2026-07-28'

/** A request that cannot be answered, and what to say instead. */
export class Refused {
  readonly response: Response

  constructor(status: number, code: number, message: string, id: unknown = null) {
    this.response = Response.json({ jsonrpc: '2.0', error: { code, message }, id }, { status })
  }
}

/** The JSON that was posted; undefined where there is none, which the SDK finds the words for. */
export async function readRequest(request: Request, limit: number): Promise<unknown> {
  if (request.method !== 'POST') return undefined
  const read = await readRequestBody(request.clone(), limit).catch(() => undefined)
  if (read === undefined || read.tooLarge) return undefined
  const excess = excessOf(read.text)
  if (excess !== undefined) {
    const message = `Bad Request: the request body ${excess}`
    return new Refused(400, ProtocolErrorCode.InvalidRequest, message)
  }
  const message = parsed(read.text)
  return findFault(message, request.headers) ?? message
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const Params: Readonly<Record<string, z.ZodType>> = {
  initialize: z.looseObject({
    protocolVersion: z.string(),
    capabilities: z.looseObject({}),
    clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
  }),
  'tools/list': z.looseObject({ cursor: z.string().optional() }),
  'tools/call': z.looseObject({ name: z.string(), arguments: z.looseObject({}).optional() }),
  'resources/list': z.looseObject({ cursor: z.string().optional() }),
  'resources/read': z.looseObject({ uri: z.string() }),
}

/**
 * What the SDK would answer with a print of its schema, or call a fault of ours, in words. What is wrong with the protocol
 * itself, in headers and versions, comes first and is for the SDK.
 */
function findFault(message: unknown, headers: Headers): Refused | undefined {
  const version = headers.get('mcp-protocol-version')
  if (Array.isArray(message) && message.length > 0 && version === modern) {
    const said = `Bad Request: ${modern} has no batches: send one request at a time`
    return new Refused(400, ProtocolErrorCode.InvalidRequest, said)
  }
  if (!isObject(message) || message.jsonrpc !== '2.0' || typeof message.method !== 'string') return undefined
  const { id, method, params = {} } = message
  const isFit =
    takesAnswers(headers) &&
    (version === modern
      ? areMirrored(headers, method, params)
      : version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version))
  // Who speaks of 2026 has nothing to begin with, and is told that there is no such method.
  const isKnown = Object.hasOwn(Params, method) && !(version === modern && method === 'initialize')
  const schema = isKnown ? Params[method] : undefined
  if (!isFit || !schema || !isObject(params) || (typeof id !== 'string' && !Number.isSafeInteger(id))) return undefined
  const { error } = schema.safeParse(params)
  if (!error) return undefined
  const said = `The parameters of ${method} are not valid: ${inWords(faultsOf(error))}.`
  return new Refused(200, ProtocolErrorCode.InvalidParams, said, id)
}

const takesAnswers = (headers: Headers): boolean =>
  /^application\/json\b/i.test(headers.get('content-type') ?? '') &&
  /application\/json/.test(headers.get('accept') ?? '') &&
  /text\/event-stream/.test(headers.get('accept') ?? '')

/** Whether the headers say what the body says, as a client of 2026 has to. */
function areMirrored(headers: Headers, method: string, params: unknown): boolean {
  const { name, uri, _meta } = isObject(params) ? params : {}
  const named = name ?? uri
  const isNamed = typeof named !== 'string' || headers.get('mcp-name') === named
  return isObject(_meta) && headers.get('mcp-method') === method && isNamed
}
