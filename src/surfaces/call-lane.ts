import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlatformError } from '../model/errors.ts'
import { isObject, type JsonObject } from '../model/json.ts'
import type { Context, JsonText } from '../operations/operation.ts'
import { call, callTool } from '../operations/tools.ts'
import { lineageHeader } from '../tools/lineage.ts'
import { answerError } from './answer.ts'
import { asking, bearer, rateHeaders, restSurface } from './asking.ts'
import { hasPlainJson, type Lane, readBody, whenGone, write, writeResponse } from './lane.ts'
import { fieldsOf, parseJson } from './read-json.ts'
import type { RestParts } from './rest.ts'

const route = /^\/api\/v1\/tools\/(\w+)\/call$/

/**
 * The short way for the one request that there are most of, `POST /tools/{id}/call`, with nothing between it and Node's
 * own request and response. It takes the plain case only, a JSON body of a declared length, an API key and no
 * Idempotency-Key, and leaves the rest to the long way. Both end at the same door; a body of an unusual shape is judged by the same operation.
 */
export function callLane(host: RestParts): Lane {
  return (request, response) => {
    const { authorization, cookie, 'idempotency-key': idempotencyKey } = request.headers
    // Who comes with a cookie alone must first show that the request is not forged.
    const hasKey = authorization !== undefined || cookie === undefined
    const isPlain = hasKey && idempotencyKey === undefined && hasPlainJson(request, host.bodyLimit)
    const toolId = isPlain ? route.exec(request.url ?? '')?.[1] : undefined
    if (toolId === undefined) return false
    void serve(toolId, request, response, host)
    return true
  }
}

async function serve(id: string, request: IncomingMessage, response: ServerResponse, host: RestParts): Promise<void> {
  let headers: Record<string, string> = {}
  try {
    if (host.closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    const sent = request.headers
    const principal = await host.keys.authenticate(bearer(sent.authorization))
    headers = rateHeaders(host.rateLimit.take(principal.id, principal.rateLimit))
    const body = parseJson((await readBody(request)).toString())
    const surface = restSurface(sent['x-quartermaster-surface'] as string | undefined)
    const asker = asking(principal, surface, sent['user-agent'])
    const descent = host.parts.reach.lineage.read(sent[lineageHeader] as string | undefined)
    const context: Context = { ...host.parts, ...asker, ...descent, gone: () => whenGone(response).signal }
    const { text, status = 200 } = await perform(id, body, context)
    write(response, status, headers, text)
    host.metrics.answered(callTool.name, status)
  } catch (error) {
    const failed = answerError(error, host.log, headers)
    await writeResponse(response, failed)
    host.metrics.answered(callTool.name, failed.status)
  }
}

async function perform(
  id: string,
  body: unknown,
  context: Context,
): Promise<Pick<JsonText, 'text'> & { status?: 202 | undefined }> {
  if (isObject(body) && isObject(body.input) && Object.keys(body).length === 1) {
    const { text } = await call(id, undefined, body.input as JsonObject, context)
    return { text }
  }
  return (await callTool.perform({ ...fieldsOf(body, ['id']), id }, context)) as JsonText
}
