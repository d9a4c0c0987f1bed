import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout } from 'node:timers/promises'
import { type Client, isInputRequiredResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import {
  type ClientAbilities,
  type ClientRequest,
  type ClientRequester,
  type InputRound,
  type LogMessage,
  sendLog,
} from '../../model/client-request.ts'

/** How long an abandoned call may still send requests. */
const lateRequestsMs = 60_000
/** The delay before a server is called again that asked for no input. */
const pause = 500
/** The maximum number of input rounds in one call. */
const maxRounds = 10

interface OneCall {
  readonly live: Live | undefined
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Matches messages of a server to calls. A message on the stream of a call is handled in the asynchronous context of that
 * call. A message on a shared stream belongs to the only call in flight; with several in flight, it belongs to none. An
 * abandoned call still counts for a while, otherwise its late requests would go to the next caller.
 */
export class CallsInFlight {
  readonly #context = new AsyncLocalStorage<OneCall>()
  /**
   * In no order. Not a `Set`: when V8 replaces the table of a set, the old table keeps its entries and refers to the new one.
   * A table in the old generation then keeps all later calls alive until a full collection.
   */
  readonly #all: OneCall[] = []

  /** Registers a call. */
  enter(call: OneCall): void {
    this.#all.push(call)
  }

  /** Call this when the call has ended or was abandoned. */
  leave(call: OneCall, abandoned: boolean): void {
    if (abandoned) void setTimeout(lateRequestsMs, undefined, { ref: false }).then(() => this.#remove(call))
    else this.#remove(call)
  }

  #remove(call: OneCall): void {
    const last = this.#all.pop()
    if (last && last !== call) this.#all[this.#all.indexOf(call)] = last
  }

  /** Runs `work` in the context of a call: messages received in it belong to the call, and requests carry its headers. */
  within<T>(call: OneCall, work: () => T): T {
    return this.#context.run(call, work)
  }

  /** Runs `work` outside any call. A connection belongs to no call, even if a call opened it. */
  outside<T>(work: () => T): T {
    return this.#context.exit(work)
  }

  /** The headers of the current call. */
  get headers(): Readonly<Record<string, string>> {
    return this.#context.getStore()?.headers ?? {}
  }

  whose(): Live | undefined {
    const own = this.#context.getStore()
    const [only] = this.#all
    return own ? own.live : this.#all.length === 1 ? only?.live : undefined
  }
}

const methods = {
  sampling: 'sampling/createMessage',
  elicitation: 'elicitation/create',
  roots: 'roots/list',
} as const

/** Forwards requests of servers with the 2025 protocol, and logs of any server, to the caller they belong to. */
export function passOn(client: Client, abilities: ClientAbilities, calls: CallsInFlight): void {
  for (const [ability, method] of Object.entries(methods)) {
    if (!Object.hasOwn(abilities, ability)) continue
    client.setRequestHandler(method, async ({ params }) => {
      const requester = calls.whose()?.requester
      if (!requester) {
        const message = 'This request cannot be matched to a call. Send it on the stream of the call.'
        throw new ProtocolError(ProtocolErrorCode.InvalidRequest, message)
      }
      return (await requester.request({ method, params: params as JsonObject })) as never
    })
  }
  client.setNotificationHandler('notifications/message', ({ params }) => {
    sendLog(calls.whose()?.logs, params as LogMessage)
  })
}

/**
 * Calls a server that may respond with input requests. If the caller supports them as a result, it gets them. Otherwise the
 * caller is asked here, and the server is called again with the answers.
 */
export async function inRounds(
  requester: ClientRequester,
  request: (round: InputRound) => Promise<JsonObject>,
): Promise<JsonObject> {
  let round = requester.round ?? {}
  for (let count = 0; count <= maxRounds; count++) {
    const result = await request(round)
    if (!isInputRequiredResult(result) || requester.round) return result
    round = await answers(result, requester)
  }
  throw new ProtocolError(
    ProtocolErrorCode.InternalError,
    `it sent more than ${maxRounds} rounds of questions in one call`,
  )
}

async function answers(
  { inputRequests = {}, requestState }: JsonObject,
  { request: ask }: ClientRequester,
): Promise<InputRound> {
  const requests = Object.entries(inputRequests as Record<string, unknown>)
  // Without input requests, the server only wants to be called again, after a delay.
  if (requests.length === 0) await setTimeout(pause)
  const answered = await Promise.all(
    requests.map(async ([key, question]) => [key, await ask(question as ClientRequest)]),
  )
  return {
    inputResponses: Object.fromEntries(answered),
    ...(typeof requestState === 'string' && { requestState }),
  }
}
