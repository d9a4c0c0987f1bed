import { CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/server'
import { type Asking, abilitiesOf, isLogLevel, type LogLevel, type LogMessage } from '../../model/asking.ts'
import type { Live } from '../../model/call.ts'
import { isObject, type JsonObject } from '../../model/json.ts'
import type { Cancelling } from './cancelling.ts'
import type { HeldCall, HeldCalls } from './held.ts'
import { type Questions, unanswered } from './questions.ts'
import type { Sessions } from './session.ts'

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

/** What is kept about callers who wait. */
export interface Correspondence {
  readonly sessions: Sessions
  readonly questions: Questions
  readonly held: HeldCalls
  readonly cancelling: Cancelling
}

export interface Connection {
  readonly session: string | null
  readonly era: 'legacy' | 'modern'
}

/** Who calls, and over which connection. */
export interface Caller extends Connection {
  readonly principalId: string
  /** What is called, and where: only the same call is gone on with. */
  readonly endpoint: string
  readonly tool: string
}

/**
 * Runs a call and answers its caller: with the result, or where the caller is of 2026, with what it is asked. Progress
 * goes back under the caller's own token, and what it sends along goes on to the one who is called.
 */
export function answerCall(
  incoming: Incoming,
  caller: Caller,
  { sessions, questions, held, cancelling }: Correspondence,
  call: (live: Live) => Promise<JsonObject>,
): Promise<JsonObject> {
  const { signal } = incoming.cancelling
  if (caller.era === 'legacy') {
    const { principalId, session } = caller
    const abilities = sessions.abilities(session)
    const asking: Asking | undefined = abilities && {
      abilities,
      ask: (question, over) =>
        questions.ask(question, {
          principalId,
          signal: over ? AbortSignal.any([signal, over]) : signal,
          send: incoming.ask,
        }),
    }
    const live = liveOf(incoming, sessions.level(session) ?? 'everything', asking)
    const { id } = incoming
    return cancelling.run({ id, principalId, session, cancelling: incoming.cancelling }, () => call(live))
  }
  const { inputResponses, requestState: state, envelope } = incoming
  const abilities = abilitiesOf(envelope[CLIENT_CAPABILITIES_META_KEY])
  const level = envelope[LOG_LEVEL_META_KEY]
  const wanted = isLogLevel(level) ? level : 'nothing'
  if (!abilities) return call(liveOf(incoming, wanted, undefined))

  const round = {
    ...(isObject(inputResponses) && { inputResponses: inputResponses as JsonObject }),
    ...(state !== undefined && { requestState: state }),
  }
  const asking: Asking = { abilities, round, ask: () => gone() }
  const exchange = { signal, live: liveOf(incoming, wanted, asking) }
  if (held.isHeld(state)) return held.resume(state, ownerOf(caller), exchange)
  return held.start(ownerOf(caller), exchange, (one) => call(liveOfHeld(one, asking)))
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
