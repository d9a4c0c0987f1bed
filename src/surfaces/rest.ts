import { Hono, type Context as HonoContext } from 'hono'
import type { Logger } from 'pino'
import type { Keys } from '../access/keys.ts'
import type { RateLimit } from '../access/rate-limit.ts'
import type { Sessions } from '../access/sessions.ts'
import { PlatformError } from '../model/errors.ts'
import type { JsonObject } from '../model/json.ts'
import { inputSchema } from '../operations/json-schema.ts'
import { type Request as Asking, type Operation, type Parts, parametersOf, routeOf } from '../operations/operation.ts'
import { lineageHeader } from '../tools/lineage.ts'
import { answer, answerError } from './answer.ts'
import { asking, clientOf, rateHeaders } from './asking.ts'
import { idempotently } from './idempotency.ts'
import { type Identity, identify } from './identify.ts'
import type { Metrics } from './metrics.ts'
import { cut, fieldsOf, readJson } from './read-json.ts'

export interface RestParts {
  readonly operations: readonly Operation[]
  readonly parts: Parts
  readonly keys: Keys
  readonly sessions: Sessions
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
  const inOrder = [...host.operations].sort((a, b) => parametersOf(a.route).length - parametersOf(b.route).length)
  for (const operation of inOrder) {
    const { method, path } = routeOf(operation)
    const handle = handler(operation, host)
    app.on(method, path.replaceAll(/\{(\w+)\}/g, ':$1'), async (context) => {
      const response = await handle(context).catch((error: unknown) => answerError(error, host.log))
      host.metrics.answered(operation.name, response.status)
      return response
    })
  }
  return app
}

function handler(operation: Operation, host: RestParts) {
  const readInput = inputReader(operation, host.bodyLimit)
  const { method } = routeOf(operation)

  const run = async (who: Identity, req: HonoRequest, headers: Record<string, string>): Promise<Response> => {
    const { principal, surface } = who
    const input = await readInput(req)
    // What a browser says of itself tells nothing about who asked.
    const asker = asking(principal, surface, clientOf(surface === 'web' ? 'dashboard' : req.header('user-agent')))
    const descent = host.parts.reach.lineage.read(req.header(lineageHeader))
    const gone = () => req.raw.signal
    const context = { ...host.parts, ...asker, ...descent, ...extras(operation, req), gone }
    const perform = async () => answer(operation, await operation.perform(input, context), headers, host.closing)

    const key = method === 'POST' ? req.header('idempotency-key') : undefined
    if (key === undefined) return perform()
    const fingerprint = `${operation.name}\n${JSON.stringify(input)}`
    const { secretFields } = operation
    return idempotently(
      host.parts.store.idempotencyKeys,
      { principalId: principal.id, key, fingerprint, secretFields, headers },
      perform,
      (error) => answerError(error, host.log, headers),
    )
  }

  return async ({ req }: HonoContext): Promise<Response> => {
    if (host.closing.aborted) throw new PlatformError('SHUTTING_DOWN', {})
    const who = await identify(req.raw, host)
    const headers = rateHeaders(host.rateLimit.take(who.principal.id, who.principal.rateLimit))
    return run(who, req, headers).catch((error: unknown) => answerError(error, host.log, headers))
  }
}

type HonoRequest = HonoContext['req']

const extras = (operation: Operation, req: HonoRequest): Pick<Asking, 'body' | 'range'> => ({
  ...(operation.accepts === 'bytes' && { body: cut(req.raw.body, Number.POSITIVE_INFINITY) }),
  ...(operation.answers === 'bytes' && { range: req.header('range') }),
})

/** Collects an operation's input from where REST keeps it: the path, and then the query or the body. */
function inputReader(operation: Operation, bodyLimit: number) {
  const { method, path } = routeOf(operation)
  const parameters = parametersOf(path)
  const inPath = parameters.map(({ field }) => field)
  const inBody = method === 'POST' || method === 'PATCH' || (method === 'PUT' && !operation.accepts)
  const fields = (inputSchema(operation).properties ?? {}) as Record<string, JsonObject>

  return async (req: HonoRequest): Promise<unknown> => {
    const fromPath = Object.fromEntries(parameters.map(({ name, field }) => [field, req.param(name)]))
    const query = req.url.includes('?') ? readQuery(req.queries(), fields) : {}
    if (!inBody) return { ...query, ...fromPath }
    const errors = Object.keys(query).map((name) => ({ path: name, message: 'belongs in the body, not in the query' }))
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    return { ...fieldsOf(await readJson(req.raw, bodyLimit), inPath), ...fromPath }
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
