import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout } from 'node:timers/promises'
import { type Client, isInputRequiredResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../lib/json.ts'
import { type Abilities, type Asking, type LogMessage, type Question, type Round, tellLog } from '../../model/asking.ts'
import type { Live } from '../../model/call.ts'

/** How long a call that was given up may still be asking. */
const echo = 60_000
/** How long a server is given that asks nothing, but to be called again. */
const pause = 500
/** How often a server may ask within one call. */
const mostRounds = 10

interface OneCall {
  readonly live: Live | undefined
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Tells whose call a message of a server belongs to. One on the stream of a call is handled in the asynchronous context
 * of that call; one on a stream that all calls share belongs to the only call in flight, and to nobody where there are
 * several. A call that was given up counts for a while, or what it still asks would go to the next caller.
 */
export class CallsInFlight {
  readonly #context = new AsyncLocalStorage<OneCall>()
  readonly #all = new Set<{ readonly live: Live | undefined }>()

  /** A call begins. What it gives is called when the call is over, and told whether it was given up. */
  enter(live: Live | undefined): (givenUp: boolean) => void {
    const one = { live }
    this.#all.add(one)
    return (givenUp) => {
      if (givenUp) void setTimeout(echo, undefined, { ref: false }).then(() => this.#all.delete(one))
      else this.#all.delete(one)
    }
  }

  /** What is heard in here belongs to this call, and what is sent says so. */
  within<T>(call: OneCall, work: () => T): T {
    return this.#context.run(call, work)
  }

  /** A connection belongs to no call, whichever made it. */
  outside<T>(work: () => T): T {
    return this.#context.exit(work)
  }

  /** Of the call that something is sent for. */
  get headers(): Readonly<Record<string, string>> {
    return this.#context.getStore()?.headers ?? {}
  }

  whose(): Live | undefined {
    const own = this.#context.getStore()
    const [only] = this.#all
    return own ? own.live : this.#all.size === 1 ? only?.live : undefined
  }
}

const methods = {
  sampling: 'sampling/createMessage',
  elicitation: 'elicitation/create',
  roots: 'roots/list',
} as const

/** Has what a server of 2025 asks, and what any server logs, go to the caller whose call it is. */
export function passOn(client: Client, abilities: Abilities, calls: CallsInFlight): void {
  for (const [ability, method] of Object.entries(methods)) {
    if (!Object.hasOwn(abilities, ability)) continue
    client.setRequestHandler(method, async ({ params }) => {
      const asking = calls.whose()?.asking
      if (!asking) {
        const message = 'It cannot be known whose call this belongs to: ask on the stream of the call.'
        throw new ProtocolError(ProtocolErrorCode.InvalidRequest, message)
      }
      return (await asking.ask({ method, params: params as JsonObject })) as never
    })
  }
  client.setNotificationHandler('notifications/message', ({ params }) => {
    tellLog(calls.whose()?.logs, params as LogMessage)
  })
}

/**
 * Calls a server that answers with questions. A caller who takes questions as an answer gets them; otherwise the caller
 * is asked here, and the server is called again with the answers.
 */
export async function inRounds(asking: Asking, request: (round: Round) => Promise<JsonObject>): Promise<JsonObject> {
  let round = asking.round ?? {}
  for (let count = 0; count <= mostRounds; count++) {
    const result = await request(round)
    if (!isInputRequiredResult(result) || asking.round) return result
    round = await answers(result as JsonObject, asking)
  }
  throw new ProtocolError(ProtocolErrorCode.InternalError, `it asked more than ${mostRounds} times within one call`)
}

async function answers({ inputRequests = {}, requestState }: JsonObject, { ask }: Asking): Promise<Round> {
  const asked = Object.entries(inputRequests as Record<string, unknown>)
  // A server may only want to be called again, which is not meant at once.
  if (asked.length === 0) await setTimeout(pause)
  const answered = await Promise.all(asked.map(async ([key, question]) => [key, await ask(question as Question)]))
  return {
    inputResponses: Object.fromEntries(answered),
    ...(typeof requestState === 'string' && { requestState }),
  }
}
