import { PlatformError } from '../model/errors.ts'
import { isGeneratedId } from '../model/ids.ts'
import { isObject, type JsonObject } from '../model/json.ts'
import type { Context, JsonText } from '../operations/operation.ts'
import { call, callTool } from '../operations/tools.ts'
import { lineageHeader } from '../tools/lineage.ts'
import { answerError } from './answer.ts'
import { asking, bearer, clientOf, rateHeaders, restSurface } from './asking.ts'
import { type Headers, type Lane, type Reply, sendResponse, whenGone } from './lane.ts'
import { fieldsOf, parseJson, textOf } from './read-json.ts'
import type { RestParts } from './rest.ts'

const route = /^\/api\/v1\/tools\/(\w+)\/call$/

/**
 * The short way for the one request that there are most of, `POST /tools/{id}/call`. It takes the plain case only, with an
 * API key and no Idempotency-Key, and leaves the rest to the long way. Both end at the same door; a body of an unusual
 * shape is judged by the same operation.
 */
export function callLane(host: RestParts): Lane {
  return ({ path, headers }) => {
    const { authorization, cookie, 'idempotency-key': idempotencyKey } = headers
    // Who comes with a cookie alone must first show that the request is not forged.
    const hasKey = authorization !== undefined || cookie === undefined
    const isFit = hasKey && idempotencyKey === undefined && Number(headers['content-length']) <= host.bodyLimit
    const toolId = isFit ? route.exec(path)?.[1] : undefined
    return toolId === undefined ? undefined : (body, reply) => void serve(toolId, headers, body, reply, host)
  }
}

async function serve(id: string, sent: Headers, bytes: Buffer, reply: Reply, host: RestParts): Promise<void> {
  let headers: Record<string, string> = {}
  try {
    if (host.closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    const principal = await host.keys.authenticate(bearer(sent.authorization))
    headers = rateHeaders(host.rateLimit.take(principal.id, principal.rateLimit))
    const body = parseJson(textOf(bytes))
    const surface = restSurface(sent['x-quartermaster-surface'])
    const asker = asking(principal, surface, clientOf(sent['user-agent']))
    const descent = host.parts.reach.lineage.read(sent[lineageHeader])
    const context: Context = { ...host.parts, ...asker, ...descent, gone: () => whenGone(reply).signal }
    const { text, status = 200 } = await perform(id, body, context)
    reply.send(status, headers, text)
    host.metrics.answered(callTool.name, status)
  } catch (error) {
    const failed = answerError(error, host.log, headers)
    await sendResponse(reply, failed)
    host.metrics.answered(callTool.name, failed.status)
  }
}

async function perform(
  id: string,
  body: unknown,
  context: Context,
): Promise<Pick<JsonText, 'text'> & { status?: 202 | undefined }> {
  if (isGeneratedId(id) && isObject(body) && isObject(body.input) && Object.keys(body).length === 1) {
    const { text } = await call(id, undefined, body.input as JsonObject, context)
    return { text }
  }
  return (await callTool.perform({ ...fieldsOf(body, ['id']), id }, context)) as JsonText
}
