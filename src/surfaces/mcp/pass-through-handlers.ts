import { type McpServer, ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server'
import type { JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import { errorBody, PlatformError } from '../../model/errors.ts'
import { startOf } from './pages.ts'
import type { PassThrough } from './pass-through.ts'
import { maxSubscriptions } from './subscriptions.ts'

const pageSize = 1000
/** How long a client may cache a list. Subscribers are notified of changes. */
const listHint = { ttlMs: 60_000, cacheScope: 'private' } as const
/** Upstream servers do not tell us when the content of a resource changes, unless a client subscribes to it. */
const contentHint = { ttlMs: 0, cacheScope: 'private' } as const

export interface PassedKinds {
  readonly prompts: boolean
  readonly resources: boolean
}

/** Answers the methods about prompts and resources. Replaces the handlers for skills as resources, which are included. */
export function attachPassThrough(
  { server }: McpServer,
  { prompts, resources }: PassedKinds,
  passed: PassThrough,
  subscriber: Subscriber | undefined,
): void {
  if (!prompts && !resources) return
  server.registerCapabilities({
    completions: {},
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { listChanged: true, subscribe: true } }),
  })
  server.setRequestHandler('completion/complete', ({ params }, { mcpReq }) =>
    answered(params.ref, () => passed.complete(params as JsonObject, liveOf(mcpReq))),
  )
  if (prompts) {
    server.setRequestHandler('prompts/list', async ({ params }) => page('prompts', await passed.prompts(), params))
    server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) =>
      answered(params, () => passed.getPrompt(params as JsonObject, liveOf(mcpReq))),
    )
  }
  if (resources) {
    server.setRequestHandler('resources/list', async ({ params }) =>
      page('resources', await passed.resources(), params),
    )
    server.setRequestHandler('resources/templates/list', async ({ params }) =>
      page('resourceTemplates', await passed.templates(), params),
    )
    server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
      answered(params, async () => ({ ...(await passed.read(params.uri, liveOf(mcpReq))), ...contentHint })),
    )
  }
  if (resources && subscriber) {
    server.setRequestHandler('resources/subscribe', ({ params }) =>
      answered(params, async () => {
        const start = () => passed.watch(params.uri, () => subscriber.updated(params.uri))
        if (await subscriber.add(params.uri, start)) return {}
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, tooMany)
      }),
    )
    server.setRequestHandler('resources/unsubscribe', ({ params }) => {
      subscriber.remove(params.uri)
      return {}
    })
  }
}

const tooMany = `You have ${maxSubscriptions} subscriptions, which is the limit. Unsubscribe from a resource first.`

/** The session of a 2025 client, which subscribes to resources one by one. */
export interface Subscriber {
  updated(uri: string): void
  add(uri: string, start: () => Promise<() => void>): Promise<boolean>
  remove(uri: string): void
}

const liveOf = ({ signal }: { readonly signal: AbortSignal }): Live => ({ signal })

function page(field: string, all: readonly JsonObject[], params: { cursor?: string | undefined } | undefined): never {
  const start = startOf(params?.cursor, all.length)
  const end = start + pageSize
  const nextCursor = end < all.length ? { nextCursor: String(end) } : {}
  return { [field]: all.slice(start, end), ...nextCursor, ...listHint } as never
}

/** These methods have no error results, so errors are protocol errors. */
async function answered(ref: { uri?: string } | object, work: () => Promise<JsonObject>): Promise<never> {
  try {
    return (await work()) as never
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const code = codeOf(error)
    const uri = 'uri' in ref ? { uri: String(ref.uri) } : undefined
    const isUnknown = error.code === 'UNKNOWN_RESOURCE' || code === resourceNotFound
    if (uri && isUnknown) throw new ResourceNotFoundError(uri.uri)
    throw new ProtocolError(code, error.message, { ...uri, ...errorBody(error) })
  }
}

/** Of servers before 2026. */
const resourceNotFound = -32002

/** The code of the upstream server, if it returned an error. */
function codeOf({ cause, status }: PlatformError): number {
  const { name, code } = Object(cause) as { name?: string; code?: unknown }
  if (name === 'ProtocolError' && Number.isSafeInteger(code)) return Number(code)
  return status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
}
