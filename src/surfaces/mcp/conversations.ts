import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import type { ChangeEvents } from '../../db/change-events.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import {
  abilitiesOf,
  type ClientRequester,
  isLogLevel,
  type LogLevel,
  type LogMessage,
} from '../../model/client-request.ts'
import { knownError } from '../../model/database-unavailable.ts'
import { Cancellation } from './cancellation.ts'
import { ClientRequests, unanswered } from './client-requests.ts'
import { type HeldCall, HeldCalls } from './held-calls.ts'
import { McpSessions } from './sessions.ts'

const reserved = 'io.modelcontextprotocol/'

/** An incoming call, in either encoding. */
export interface Incoming {
  /** The JSON-RPC id of the request. */
  readonly id: string | number
  /** Aborts when the client disconnects or cancels. */
  readonly signal: AbortSignal
  /** Aborts `signal`, because the client has cancelled in another request. */
  cancel(): void
  /** The `_meta` of the request, including the progress token. */
  readonly meta: JsonObject
  /** On the 2026 protocol: what the client declares with each request. */
  readonly envelope: JsonObject
  readonly inputResponses: unknown
  readonly requestState: string | undefined
  /** Both are sent on the stream of the call. */
  notify(message: { method: string; params: JsonObject }): Promise<void>
  ask(message: JsonObject): Promise<void>
}

export interface Connection {
  readonly session: string | null
  readonly era: 'legacy' | 'modern'
}

/** The identity and connection of the caller. */
export interface Caller extends Connection {
  readonly principalId: string
  /** A call can be resumed only on the same endpoint and tool. */
  readonly endpoint: string
  readonly tool: string
}

/**
 * Calls in flight and the messages around them: requests to the client and their responses, progress, logs,
 * cancellation. On the 2025 protocol, requests are sent on the stream of the call, and the client responds in a
 * separate HTTP request. On the 2026 protocol, the call returns the requests, and the client calls again with the
 * responses.
 */
export class Conversations {
  readonly sessions = new McpSessions()
  readonly #questions = new ClientRequests()
  readonly #held = new HeldCalls()
  readonly #cancellation: Cancellation
  readonly #log: Logger
  readonly #notifySession: NotifySession
  #inFlight = 0
  #onIdle = () => {}

  constructor(changes: ChangeEvents, log: Logger, notifySession: NotifySession) {
    this.#notifySession = notifySession
    this.#cancellation = new Cancellation(changes)
    this.#log = log
  }

  /** Runs a call. Returns the result of the tool, or the requests that the client has to answer first. */
  call(incoming: Incoming, caller: Caller, run: Run): Promise<JsonObject> {
    return caller.era === 'legacy' ? this.#callLegacy(incoming, caller, run) : this.#callModern(incoming, caller, run)
  }

  /** Returns whether this response of a 2025 client was expected here. */
  answer(principalId: string, message: JsonObject): boolean {
    return this.#questions.answer(principalId, message)
  }

  cancel(call: { principalId: string; session: string | null; id: unknown }): Promise<void> {
    return this.#cancellation.cancel(call)
  }

  /** Rejects pending requests, because responses are no longer accepted. */
  close(): void {
    this.#questions.close()
    this.#held.close()
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  #callLegacy(incoming: Incoming, { principalId, session }: Caller, run: Run): Promise<JsonObject> {
    const { signal } = incoming
    const abilities = this.sessions.abilities(session)
    let isOver = false
    const requester: ClientRequester | undefined = abilities && {
      abilities,
      notify: (method, params) => {
        if (!isOver) void incoming.notify({ method, params }).catch(() => {})
        else if (session !== null) this.#notifySession({ id: session, principalId }, { method, params })
      },
      request: (question, over) =>
        this.#questions.ask(question, {
          principalId,
          signal: over ? AbortSignal.any([signal, over]) : signal,
          send: incoming.ask,
        }),
    }
    const live = liveOf(incoming, this.sessions.level(session) ?? 'everything', requester)
    const running = () => this.#run(live, run).finally(() => (isOver = true))
    if (session === null) return running()
    const { id } = incoming
    return this.#cancellation.run({ id, principalId, session }, () => incoming.cancel(), running)
  }

  #callModern(incoming: Incoming, caller: Caller, run: Run): Promise<JsonObject> {
    const { inputResponses, requestState: state, envelope } = incoming
    const { signal } = incoming
    const abilities = abilitiesOf(envelope[CLIENT_CAPABILITIES_META_KEY])
    const level = envelope[LOG_LEVEL_META_KEY]
    const wanted = isLogLevel(level) ? level : 'nothing'
    if (!abilities) return this.#run(liveOf(incoming, wanted, undefined), run)

    const round = {
      ...(isObject(inputResponses) && { inputResponses }),
      ...(state !== undefined && { requestState: state }),
    }
    const requester: ClientRequester = { abilities, round, request: () => gone() }
    const exchange = { signal, live: liveOf(incoming, wanted, requester) }
    if (this.#held.isHeld(state)) return this.#held.resume(state, ownerOf(caller), exchange)
    return this.#held.start(ownerOf(caller), exchange, (one) => this.#run(liveOfHeld(one, requester), run))
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

/** Sends a message on the stream that the client of a session listens to, if it has opened one here. */
type NotifySession = (
  session: { readonly id: string; readonly principalId: string },
  message: { readonly method: string; readonly params: JsonObject },
) => void

type Run = (live: Live) => Promise<JsonObject>

/** Errors that are not in the catalogue are logged in full and not shown. */
export function toProtocolError(error: unknown, log: Logger): ProtocolError {
  if (error instanceof ProtocolError) return error
  const known = knownError(error)
  if (!known) log.error({ err: error }, 'internal error')
  const message = known ? known.message : 'Something went wrong inside the platform. See its log.'
  return new ProtocolError(ProtocolErrorCode.InternalError, message)
}

const ownerOf = ({ principalId, endpoint, tool }: Caller) => JSON.stringify([principalId, endpoint, tool])

const gone = () => Promise.reject(unanswered('the conversation has ended'))

function liveOf(
  { signal, meta, notify }: Incoming,
  wanted: LogLevel | 'everything' | 'nothing',
  requester: ClientRequester | undefined,
): Live {
  const { progressToken } = meta
  const send = (message: LogMessage) => {
    void notify({ method: 'notifications/message', params: { ...message } as unknown as JsonObject }).catch(() => {})
  }
  return {
    signal,
    meta: passedOn(meta),
    onProgress: progressToken === undefined ? undefined : progressTo(progressToken as string | number, notify),
    logs: wanted === 'nothing' ? undefined : { send, level: wanted === 'everything' ? undefined : wanted },
    requester,
  }
}

const progressTo =
  (progressToken: string | number, notify: Incoming['notify']): Live['onProgress'] =>
  (progress) => {
    const params = { progressToken, ...(progress as JsonObject) }
    void notify({ method: 'notifications/progress', params }).catch(() => {})
  }

/** Protocol metadata applies to one hop, so it is not forwarded. */
function passedOn(meta: JsonObject): JsonObject {
  const passed: JsonObject = {}
  for (const key in meta) {
    if (key !== 'progressToken' && !key.startsWith(reserved)) passed[key] = meta[key] as Json
  }
  return passed
}

/** Messages go to the request that is waiting now, which may be later than the one that started the call. */
const liveOfHeld = (held: HeldCall, requester: ClientRequester): Live => {
  const { meta = {}, onProgress, logs } = held.live
  return {
    signal: held.cancelling.signal,
    meta,
    ...(onProgress && { onProgress: (progress) => held.live.onProgress?.(progress) }),
    ...(logs && { logs: { ...logs, send: (message) => held.live.logs?.send(message) } }),
    requester: { ...requester, request: (question) => held.ask(question) },
  }
}
