import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import type { Notices } from '../../db/notices.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { type Asking, abilitiesOf, isLogLevel, type LogLevel, type LogMessage } from '../../model/asking.ts'
import type { Live } from '../../model/call.ts'
import { knownError } from '../../model/database-unavailable.ts'
import { Cancelling } from './cancelling.ts'
import { type HeldCall, HeldCalls } from './held.ts'
import { Questions, unanswered } from './questions.ts'
import { Sessions } from './session.ts'

const reserved = 'io.modelcontextprotocol/'

/** A call as it came, whichever way. */
export interface Incoming {
  /** Of the request, as the caller has it. */
  readonly id: string | number
  /** Aborted when the caller leaves. */
  readonly cancelling: AbortController
  /** What the caller sends along, and the token for progress. */
  readonly meta: JsonObject
  /** What a caller of 2026 says of itself with each request. */
  readonly envelope: JsonObject
  readonly inputResponses: unknown
  readonly requestState: string | undefined
  /** Both go over the stream of the call. */
  notify(message: { method: string; params: JsonObject }): Promise<void>
  ask(message: JsonObject): Promise<void>
}

export interface Connection {
  readonly session: string | null
  readonly era: 'legacy' | 'modern'
}

/** Who calls, and over which connection. */
export interface Caller extends Connection {
  readonly principalId: string
  /** What is called, and where: only the same call is resumed. */
  readonly endpoint: string
  readonly tool: string
}

/**
 * Calls that are under way, and what goes back and forth while they are: questions to the caller and their answers,
 * progress, logs, cancelling. A caller of 2025 is asked over the stream of its call and answers in a request of its own; a
 * caller of 2026 is answered with the questions, and calls again with the answers.
 */
export class Conversations {
  readonly sessions = new Sessions()
  readonly #questions = new Questions()
  readonly #held = new HeldCalls()
  readonly #cancelling: Cancelling
  readonly #log: Logger
  #inFlight = 0
  #onIdle = () => {}

  constructor(notices: Notices, log: Logger) {
    this.#cancelling = new Cancelling(notices)
    this.#log = log
  }

  /** Runs a call. Its result is the tool's, or what the caller is asked first. */
  call(incoming: Incoming, caller: Caller, run: Run): Promise<JsonObject> {
    return caller.era === 'legacy' ? this.#callLegacy(incoming, caller, run) : this.#callModern(incoming, caller, run)
  }

  /** Whether someone here waited for this answer of a 2025 caller. */
  answer(principalId: string, message: JsonObject): boolean {
    return this.#questions.answer(principalId, message)
  }

  cancel(call: { principalId: string; session: string | null; id: unknown }): Promise<void> {
    return this.#cancelling.cancel(call)
  }

  /** Answers are not taken any more, so nobody need wait for one. */
  close(): void {
    this.#questions.close()
    this.#held.close()
  }

  /** Resolves once no call runs. */
  async idle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  #callLegacy(incoming: Incoming, { principalId, session }: Caller, run: Run): Promise<JsonObject> {
    const { id, cancelling } = incoming
    const { signal } = cancelling
    const abilities = this.sessions.abilities(session)
    const asking: Asking | undefined = abilities && {
      abilities,
      ask: (question, over) =>
        this.#questions.ask(question, {
          principalId,
          signal: over ? AbortSignal.any([signal, over]) : signal,
          send: incoming.ask,
        }),
    }
    const live = liveOf(incoming, this.sessions.level(session) ?? 'everything', asking)
    return this.#cancelling.run({ id, principalId, session, cancelling }, () => this.#run(live, run))
  }

  #callModern(incoming: Incoming, caller: Caller, run: Run): Promise<JsonObject> {
    const { inputResponses, requestState: state, envelope } = incoming
    const { signal } = incoming.cancelling
    const abilities = abilitiesOf(envelope[CLIENT_CAPABILITIES_META_KEY])
    const level = envelope[LOG_LEVEL_META_KEY]
    const wanted = isLogLevel(level) ? level : 'nothing'
    if (!abilities) return this.#run(liveOf(incoming, wanted, undefined), run)

    const round = {
      ...(isObject(inputResponses) && { inputResponses: inputResponses as JsonObject }),
      ...(state !== undefined && { requestState: state }),
    }
    const asking: Asking = { abilities, round, ask: () => gone() }
    const exchange = { signal, live: liveOf(incoming, wanted, asking) }
    if (this.#held.isHeld(state)) return this.#held.resume(state, ownerOf(caller), exchange)
    return this.#held.start(ownerOf(caller), exchange, (one) => this.#run(liveOfHeld(one, asking), run))
  }

  async #run(live: Live, run: Run): Promise<JsonObject> {
    this.#inFlight++
    try {
      return await run(live)
    } catch (error) {
      throw toProtocolError(error, this.#log)
    } finally {
      if (--this.#inFlight === 0) this.#onIdle()
    }
  }
}

type Run = (live: Live) => Promise<JsonObject>

/** What is not in the catalogue of errors is logged whole, and not shown. */
export function toProtocolError(error: unknown, log: Logger): ProtocolError {
  if (error instanceof ProtocolError) return error
  const known = knownError(error)
  if (!known) log.error({ err: error }, 'internal error')
  const message = known ? known.message : 'Something went wrong inside the platform. The log has it.'
  return new ProtocolError(ProtocolErrorCode.InternalError, message)
}

const ownerOf = ({ principalId, endpoint, tool }: Caller) => JSON.stringify([principalId, endpoint, tool])

const gone = () => Promise.reject(unanswered('it is gone'))

function liveOf(
  { cancelling: { signal }, meta, notify }: Incoming,
  wanted: LogLevel | 'everything' | 'nothing',
  asking: Asking | undefined,
): Live {
  const { progressToken } = meta
  const onProgress: Live['onProgress'] = (progress) => {
    const params = { progressToken: progressToken as string | number, ...(progress as JsonObject) }
    void notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  const tell = (message: LogMessage) => {
    void notify({ method: 'notifications/message', params: { ...message } as unknown as JsonObject }).catch(() => {})
  }
  return {
    signal,
    meta: passedOn(meta),
    ...(progressToken !== undefined && { onProgress }),
    ...(wanted !== 'nothing' && { logs: { tell, ...(wanted !== 'everything' && { level: wanted }) } }),
    ...(asking && { asking }),
  }
}

/** What the protocol says about itself is between neighbours. */
function passedOn(meta: JsonObject): JsonObject {
  const passed: JsonObject = {}
  for (const [key, value] of Object.entries(meta)) {
    if (key !== 'progressToken' && !key.startsWith(reserved)) passed[key] = value
  }
  return passed
}

/** What is told goes to the request that waits now, which may be a later one than that which began the call. */
const liveOfHeld = (held: HeldCall, asking: Asking): Live => {
  const { meta = {}, onProgress, logs } = held.live
  return {
    signal: held.cancelling.signal,
    meta,
    ...(onProgress && { onProgress: (progress) => held.live.onProgress?.(progress) }),
    ...(logs && { logs: { ...logs, tell: (message) => held.live.logs?.tell(message) } }),
    asking: { ...asking, ask: (question) => held.ask(question) },
  }
}
