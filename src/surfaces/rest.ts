import { Hono, type Context as HonoContext } from 'hono'
import type { Logger } from 'pino'
import type { Keys } from '../access/keys.ts'
import type { Allowance, RateLimit } from '../access/rate-limit.ts'
import { type Surface, surfaces } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import { isObject, type JsonObject } from '../model/json.ts'
import type { Principal } from '../model/principal.ts'
import { inputSchema } from '../operations/json-schema.ts'
import { type Request as Asking, type Operation, ownParameter, type Parts, routeOf } from '../operations/operation.ts'
import { answer, answerError } from './answer.ts'
import { idempotently } from './idempotency.ts'
import type { Metrics } from './metrics.ts'
import { cut, readJson } from './read-json.ts'

export interface RestParts {
  readonly operations: readonly Operation[]
  readonly parts: Parts
  readonly keys: Keys
  readonly rateLimit: RateLimit
  readonly metrics: Metrics
  readonly log: Logger
  readonly bodyLimit: number
  /** Aborted when the platform stops. */
  readonly closing: AbortSignal
}

/** REST is a loop over the operations. */
export function rest(host: RestParts): Hono {
  const app = new Hono()
  // A fixed path must be asked for before one with a parameter in its place.
  const inOrder = [...host.operations].sort((a, b) => Number(a.route.includes('{')) - Number(b.route.includes('{')))
  const methods = new Map<string, string[]>()
  for (const operation of inOrder) {
    const { method, path } = routeOf(operation)
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    const handle = handler(operation, host)
    app.on(method, pattern, async (context) => {
      const response = await handle(context).catch((error: unknown) => answerError(error, host.log))
      host.metrics.answered(operation.name, response.status)
      return response
    })
    methods.set(pattern, [...(methods.get(pattern) ?? []), method])
  }
  for (const [pattern, allowed] of methods) {
    app.all(pattern, ({ req: { method, path } }) => {
      return answerError(new PlatformError('METHOD_NOT_ALLOWED', { method, path, allowed }), host.log)
    })
  }
  return app
}

function handler(operation: Operation, host: RestParts) {
  const readInput = inputReader(operation, host.bodyLimit)
  const { method } = routeOf(operation)

  const run = async (principal: Principal, req: HonoRequest): Promise<Response> => {
    const input = await readInput(req)
    const asking = { ...asker(principal, req), ...extras(operation, req) }
    const perform = async () =>
      answer(operation, await operation.perform(input, { ...host.parts, ...asking }), host.closing)

    const key = method === 'POST' ? req.header('idempotency-key') : undefined
    if (key === undefined) return perform()
    const fingerprint = `${operation.name}\n${JSON.stringify(input)}`
    const { secretFields } = operation
    return idempotently(
      host.parts.store.idempotencyKeys,
      { principalId: principal.id, key, fingerprint, secretFields },
      perform,
      (error) => answerError(error, host.log),
    )
  }

  return async ({ req }: HonoContext): Promise<Response> => {
    if (host.closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    const principal = await host.keys.authenticate(bearer(req.header('authorization')))
    const allowance = host.rateLimit.take(principal.id, principal.rateLimit)
    const response = await run(principal, req).catch((error: unknown) => answerError(error, host.log))
    return allowance ? withRate(response, allowance) : response
  }
}

function withRate(response: Response, { limit, remaining, resetSeconds }: Allowance): Response {
  response.headers.set('ratelimit-limit', String(limit))
  response.headers.set('ratelimit-remaining', String(remaining))
  response.headers.set('ratelimit-reset', String(resetSeconds))
  return response
}

type HonoRequest = HonoContext['req']

const bearer = (header: string | undefined) => /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1]

/** Who asks, and with what: the command line and the SDK name themselves, others are known by their user agent. */
function asker(principal: Principal, req: HonoRequest): Asking {
  const named = req.header('x-quartermaster-surface') as Surface | undefined
  const [, name = null, version = null] = /^([^\s/]+)(?:\/(\S+))?/.exec(req.header('user-agent') ?? '') ?? []
  return {
    principal,
    surface: named && surfaces.includes(named) ? named : 'rest',
    client: { name, version },
    parentCallId: null,
    depth: 0,
  }
}

const extras = (operation: Operation, req: HonoRequest): Pick<Asking, 'body' | 'range'> => ({
  ...(operation.accepts === 'bytes' && { body: cut(req.raw.body, Number.POSITIVE_INFINITY) }),
  ...(operation.answers === 'bytes' && { range: req.header('range') }),
})

/** Collects an operation's input from where REST keeps it: the path, and then the query or the body. */
function inputReader(operation: Operation, bodyLimit: number) {
  const { method, path } = routeOf(operation)
  const own = ownParameter(path)
  const inBody = method === 'POST' || method === 'PATCH' || (method === 'PUT' && !operation.accepts)
  const fields = (inputSchema(operation).properties ?? {}) as Record<string, JsonObject>

  return async (req: HonoRequest): Promise<unknown> => {
    const fromPath = own === undefined ? {} : { id: req.param(own) }
    const query = req.url.includes('?') ? readQuery(req.queries(), fields) : {}
    if (!inBody) return { ...query, ...fromPath }
    const errors = Object.keys(query).map((name) => ({ path: name, message: 'belongs in the body, not in the query' }))
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    const body = (await readJson(req.raw, bodyLimit)) ?? {}
    if (!isObject(body)) {
      throw new PlatformError('VALIDATION_FAILED', {
        errors: [{ path: '', message: 'the body must be a JSON object' }],
      })
    }
    if (own !== undefined && Object.hasOwn(body, 'id')) {
      throw new PlatformError('VALIDATION_FAILED', {
        errors: [{ path: 'id', message: 'is named by the path, not in the body' }],
      })
    }
    return { ...body, ...fromPath }
  }
}

/** Everything in a query is text; what the schema wants as something else is turned into it, where it can be. */
function readQuery(query: Record<string, string[]>, fields: Record<string, JsonObject>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, values]) => {
      const type = Object.hasOwn(fields, name) ? fields[name]?.type : undefined
      if (type === 'array') return [name, values.flatMap((value) => value.split(','))]
      const [value = '', second] = values
      if (second !== undefined) return [name, values]
      if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(value)) return [name, Number(value)]
      if (type === 'boolean' && /^(true|false)$/.test(value)) return [name, value === 'true']
      return [name, value]
    }),
  )
}
