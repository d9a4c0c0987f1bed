import { randomUUID } from 'node:crypto'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import type { ClientRequest } from '../../model/client-request.ts'
import { unanswered } from './client-requests.ts'

const prefix = 'qm-held-'
const most = 1000

/** A pending request of the client. */
export interface Exchange {
  readonly signal: AbortSignal
  readonly live: Live
}

/**
 * Calls of 2026 clients that are paused in this process because the upstream server sends a request during the call. A
 * call is *running*. When the server asks, the client gets the requests as the result, and the call is *held*. When the
 * client returns with responses, it is running again. It ends with its result, or at its timeout.
 */
export class HeldCalls {
  readonly #held = new Map<string, HeldCall>()
  #closed = false

  /** Runs a call until it ends or has requests for the client. */
  start(owner: string, exchange: Exchange, run: (call: HeldCall) => Promise<JsonObject>): Promise<JsonObject> {
    const call = new HeldCall(owner, exchange.live)
    call.begin(run(call))
    return this.#next(call, exchange)
  }

  isHeld(state: string | undefined): state is string {
    return state?.startsWith(prefix) === true
  }

  /** Resumes a held call, for the same caller and tool. */
  resume(state: string, owner: string, exchange: Exchange): Promise<JsonObject> {
    const call = this.#held.get(state)
    if (call?.owner !== owner) {
      const message = 'Invalid or expired requestState: no call is waiting for these answers. Call the tool again.'
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, { reason: 'invalid_request_state' })
    }
    this.#held.delete(state)
    call.live = exchange.live
    call.answer(exchange.live.requester?.round?.inputResponses ?? {})
    return this.#next(call, exchange)
  }

  async #next(call: HeldCall, { signal }: Exchange): Promise<JsonObject> {
    const cancel = () => call.cancelling.abort()
    signal.addEventListener('abort', cancel)
    try {
      if ((await Promise.race([call.ended, call.asked()])) === 'ended') return await call.result
      if (this.#closed || this.#held.size >= most) {
        cancel()
        return await call.result
      }
      const requestState = prefix + randomUUID()
      this.#held.set(requestState, call)
      void call.ended.then(() => this.#held.delete(requestState))
      return { resultType: 'input_required', inputRequests: call.questions(), requestState }
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  close(): void {
    this.#closed = true
    for (const call of this.#held.values()) call.cancelling.abort()
  }
}

/** One call, across all requests of the client that wait for it. */
export class HeldCall {
  readonly owner: string
  readonly cancelling = new AbortController()
  /** The connection to the request that is waiting now. */
  live: Live
  result!: Promise<JsonObject>
  ended!: Promise<'ended'>
  readonly #open = new Map<string, { readonly question: ClientRequest; answer(answer: JsonObject): void }>()
  #count = 0
  #onAsked: () => void = () => {}

  constructor(owner: string, live: Live) {
    this.owner = owner
    this.live = live
  }

  begin(result: Promise<JsonObject>): void {
    this.result = result
    const ended = () => 'ended' as const
    this.ended = result.then(ended, ended)
  }

  ask(question: ClientRequest): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#open.set(`question-${++this.#count}`, { question, answer: resolve })
      this.cancelling.signal.addEventListener('abort', () => reject(unanswered('the call was cancelled')))
      this.#onAsked()
    })
  }

  /** Resolves when there is a request for the client. */
  asked(): Promise<'asked'> {
    return new Promise((resolve) => {
      this.#onAsked = () => resolve('asked')
      if (this.#open.size > 0) resolve('asked')
    })
  }

  questions(): JsonObject {
    const open = [...this.#open].map(([key, { question }]) => [key, question])
    return Object.fromEntries(open)
  }

  /** Requests without a response stay open, and are sent again. */
  answer(answers: JsonObject): void {
    for (const [key, { answer }] of this.#open) {
      if (!Object.hasOwn(answers, key)) continue
      this.#open.delete(key)
      answer(answers[key] as JsonObject)
    }
  }
}
