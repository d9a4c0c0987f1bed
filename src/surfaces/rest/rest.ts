import type { Logger } from 'pino'
import type { JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import { inputSchema } from '../../operations/json-schema.ts'
import { type Context, type Operation, type OperationDeps, parametersOf, routeOf } from '../../operations/operation.ts'
import { type Admission, type Admit, rateHeaders } from '../../server/admit.ts'
import { fieldsOf, readJson } from '../../server/body.ts'
import { errorReply, sendError } from '../../server/error-reply.ts'
import type { Exchange, Params, ReplyHeaders } from '../../server/exchange.ts'
import type { Metrics } from '../../server/metrics.ts'
import type { Route } from '../../server/router.ts'
import { idempotently } from './idempotency.ts'
import { type RestReply, replyOf, sendReply } from './rest-reply.ts'
import { hasTextBody } from './text-body.ts'

export interface RestDeps {
  readonly operations: readonly Operation[]
  readonly deps: OperationDeps
  readonly admit: Admit
  readonly metrics: Metrics
  readonly log: Logger
  readonly bodyLimit: number
  /** Aborts when the platform stops. */
  readonly closing: AbortSignal
}

export function restRoutes(deps: RestDeps): Route[] {
  // Static paths come before paths with a parameter in the same place.
  const inOrder = [...deps.operations].sort((a, b) => parametersOf(a.route).length - parametersOf(b.route).length)
  return inOrder.map((operation) => {
    const { method, path } = routeOf(operation)
    return { method, path: path.replaceAll(/\{(\w+)\}/g, ':$1'), handle: handler(operation, deps) }
  })
}

function handler(operation: Operation, deps: RestDeps) {
  const { admit, metrics, log, closing } = deps
  const readInput = inputReader(operation, deps.bodyLimit)
  return async (exchange: Exchange, params: Params): Promise<void> => {
    let headers: ReplyHeaders = {}
    let status: number
    try {
      const admission = await admit(exchange, 'rest')
      headers = rateHeaders(admission.allowance)
      const input = await readInput(exchange, params)
      const reply = await perform(operation, input, admission, exchange, deps)
      status = reply.status
      await sendReply(exchange, reply, headers, closing)
    } catch (error) {
      status = sendError(exchange, error, log, headers)
    }
    metrics.answered(operation.name, status)
  }
}

async function perform(
  operation: Operation,
  input: unknown,
  { caller }: Admission,
  exchange: Exchange,
  { deps, log }: RestDeps,
): Promise<RestReply> {
  const context: Context = { ...deps, ...caller, ...extras(operation, exchange) }
  const run = async () => replyOf(operation, await operation.perform(input, context))
  const key = exchange.method === 'POST' ? exchange.headers['idempotency-key'] : undefined
  if (key === undefined) return run()
  // A retry is recognised by its input, which is not known yet.
  if (hasTextBody(operation, exchange)) {
    const message = 'cannot be used with a body that arrives in pieces: send the text as JSON'
    throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'Idempotency-Key', message }] })
  }
  const fingerprint = `${operation.name}\n${JSON.stringify(input)}`
  const { secretFields, status } = operation
  const request = { principalId: caller.principal.id, key, fingerprint, secretFields, isAccepted: status === 202 }
  return idempotently(deps.store.idempotencyKeys, request, run, (error) => errorReply(error, log))
}

const extras = (operation: Operation, exchange: Exchange): Pick<Context, 'body' | 'bodyType' | 'range'> | undefined => {
  if (operation.accepts === 'bytes') return { body: exchange.chunks() }
  if (hasTextBody(operation, exchange)) {
    return { body: exchange.chunks(), bodyType: String(exchange.headers['content-type']).toLowerCase() }
  }
  const { range } = exchange.headers
  return operation.answers === 'bytes' && range !== undefined ? { range } : undefined
}

/** Collects the input of an operation from the path, and from the query or the body. */
function inputReader(operation: Operation, bodyLimit: number) {
  const { method, path } = routeOf(operation)
  const parameters = parametersOf(path)
  const inPath = parameters.map(({ field }) => field)
  const inBody = method === 'POST' || method === 'PATCH' || (method === 'PUT' && !operation.accepts)
  const fields = (inputSchema(operation).properties ?? {}) as Record<string, JsonObject>

  return async (exchange: Exchange, params: Params): Promise<unknown> => {
    const input: Record<string, unknown> = exchange.query === '' ? {} : readQuery(exchange.query, fields)
    if (inBody && !hasTextBody(operation, exchange)) {
      const errors = Object.keys(input).map((name) => ({
        path: name,
        message: 'belongs in the body, not in the query string',
      }))
      if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
      Object.assign(input, fieldsOf(await readJson(exchange, bodyLimit), inPath))
    }
    for (const { name, field } of parameters) input[field] = params[name]
    return input
  }
}

/** Query parameters are text. Converts them to the type in the schema where possible. */
function readQuery(query: string, fields: Record<string, JsonObject>): Record<string, unknown> {
  const sent = new URLSearchParams(query)
  return Object.fromEntries(
    [...new Set(sent.keys())].map((name) => {
      const values = sent.getAll(name)
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
