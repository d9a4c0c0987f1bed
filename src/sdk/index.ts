import { type AgentMethods, agentMethods } from './agents.ts'
import { type Operations, routes, streams } from './operations.ts'
import type { Outcome } from './outcome.ts'
import { type Connection, type Endpoint, type Options, type Request, send } from './send.ts'
import { type ServerMethods, serverMethods } from './server-tools.ts'

export type { GenerationEvent } from '../agents/watch.ts'
export type { AgentRun, ClientTool } from './agents.ts'
export type { Operations } from './operations.ts'
export type { ApiError, ErrorCode, Outcome } from './outcome.ts'
export type { Page } from './page.ts'
// `Connection` is the record of the platform.
export type { Connection as ClientOptions, Options } from './send.ts'
export type { AnthropicCall, OpenAiCall, ServerTool, ServerTools, ToolResult } from './server-tools.ts'
export type { Bytes, ServerEvent } from './streams.ts'
export type * from './types.ts'

type OperationArguments<Operation> = Pick<Operation, Exclude<keyof Operation, 'answer'>> & Options
type OperationAnswer<Operation> = Operation extends { answer: infer Answer } ? Promise<Outcome<Answer>> : never

/** The request is optional if the operation requires nothing. */
type Method<Operation> =
  Record<never, never> extends OperationArguments<Operation>
    ? (request?: OperationArguments<Operation>) => OperationAnswer<Operation>
    : (request: OperationArguments<Operation>) => OperationAnswer<Operation>

/** `qm.tools.createTool({ body })` and so on: a method for each operation. */
export type Quartermaster = {
  readonly [Module in keyof Operations]: {
    readonly [Name in keyof Operations[Module]]: Method<Operations[Module][Name]>
  }
} & { readonly agents: AgentMethods; readonly servers: ServerMethods }

/**
 * A client for one platform.
 *
 * Methods return `{ data, error, response }` and do not throw errors of the platform or the network. The data of
 * `downloadFile` is a stream; to get the whole content, read `response` instead, as in `await response.text()`. Iterate
 * over the data of `streamCalls` with `for await`.
 */
export const Quartermaster = class {
  constructor(connection: Connection) {
    checkConnection(connection)
    const methods = methodsOf(connection)
    Object.assign(this, methods, {
      agents: { ...methods.agents, ...agentMethods(connection) },
      servers: { ...methods.servers, ...serverMethods(connection) },
    })
  }
} as new (
  connection: Connection,
) => Quartermaster

const usage = 'use new Quartermaster({ baseUrl, token }); fetch is optional'

/** For callers without TypeScript: a missing URL would otherwise fail in the first request, with an obscure message. */
function checkConnection(connection: unknown): void {
  if (typeof connection !== 'object' || connection === null) {
    throw new TypeError(`baseUrl and token are missing: ${usage}`)
  }
  const { baseUrl, token, fetch } = connection as Partial<Record<keyof Connection, unknown>>
  const faults = [
    ...Object.keys(connection)
      .filter((name) => name !== 'baseUrl' && name !== 'token' && name !== 'fetch')
      .map((name) => `${name} is not an option`),
    ...(baseUrl === undefined ? ['baseUrl is missing'] : []),
    ...(token === undefined ? ['token is missing'] : []),
  ]
  if (faults.length > 0) throw new TypeError(`${faults.join(', ')}: ${usage}`)
  if (typeof baseUrl !== 'string') {
    throw new TypeError('baseUrl must be the URL of the platform, such as "https://tools.example.com"')
  }
  // fetch would throw an error that contains the token.
  if (token !== null && (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))) {
    throw new TypeError('token must be an API key, "sk_…"')
  }
  if (fetch !== undefined && typeof fetch !== 'function') throw new TypeError('fetch must be a function')
}

function methodsOf(connection: Connection): Record<string, Record<string, unknown>> {
  const others: Record<string, Omit<Endpoint, 'route'>> = streams
  const method = (name: string, route: string) => {
    const endpoint = { route, ...others[name] }
    return (request: Request = {}) => send(connection, endpoint, request)
  }
  return mapValues(routes, (methods) => mapValues(methods, (route: string, name) => method(name, route)))
}

const mapValues = <From, To>(record: Readonly<Record<string, From>>, change: (value: From, name: string) => To) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]))
