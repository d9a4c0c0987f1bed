import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlatformError } from '../model/errors.ts'
import { isObject, type JsonObject } from '../model/json.ts'
import type { Context, JsonText } from '../operations/operation.ts'
import { call, callTool } from '../operations/tools.ts'
import { answerError } from './answer.ts'
import { asking, bearer, rateHeaders } from './asking.ts'
import { fieldsOf, parseJson } from './read-json.ts'
import type { RestParts } from './rest.ts'

/** Answers a request and says so, or leaves it alone. */
export type Lane = (request: IncomingMessage, response: ServerResponse) => boolean

const route = /^\/api\/v1\/tools\/(\w+)\/call$/

/**
 * The short way for the one request that there are most of, `POST /tools/{id}/call`, with nothing between it and Node's
 * own request and response. It takes the plain case only, a JSON body of a declared length and no Idempotency-Key, and
 * leaves the rest to the long way. Both end at the same door; a body of an unusual shape is judged by the same operation.
 */
export function callLane(host: RestParts): Lane {
  return (request, response) => {
    const toolId = isPlain(request, host.bodyLimit) ? route.exec(request.url ?? '')?.[1] : undefined
    if (toolId === undefined) return false
    void serve(toolId, request, response, host)
    return true
  }
}

const isPlain = ({ method, headers }: IncomingMessage, bodyLimit: number): boolean =>
  method === 'POST' &&
  headers['content-type'] === 'application/json' &&
  Number(headers['content-length']) <= bodyLimit &&
  headers['idempotency-key'] === undefined

async function serve(id: string, request: IncomingMessage, response: ServerResponse, host: RestParts): Promise<void> {
  let headers: Record<string, string> = {}
  try {
    if (host.closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    const sent = request.headers
    const principal = await host.keys.authenticate(bearer(sent.authorization))
    headers = rateHeaders(host.rateLimit.take(principal.id, principal.rateLimit))
    const body = parseJson(await readBody(request))
    const asker = asking(principal, sent['x-quartermaster-surface'] as string | undefined, sent['user-agent'])
    answer(response, 200, headers, await perform(id, body, { ...host.parts, ...asker }))
    host.metrics.answered(callTool.name, 200)
  } catch (error) {
    const failed = answerError(error, host.log, headers)
    answer(response, failed.status, Object.fromEntries(failed.headers), await failed.text())
    host.metrics.answered(callTool.name, failed.status)
  }
}

async function perform(id: string, body: unknown, context: Context): Promise<string> {
  if (isObject(body) && isObject(body.input) && Object.keys(body).length === 1) {
    return (await call(id, undefined, body.input as JsonObject, context)).text
  }
  return ((await callTool.perform({ ...fieldsOf(body, true), id }, context)) as JsonText).text
}

function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => resolve((parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString()))
    request.on('error', reject)
  })
}

function answer(response: ServerResponse, status: number, headers: Record<string, string>, text: string): void {
  const length = Buffer.byteLength(text)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers }).end(text)
}
