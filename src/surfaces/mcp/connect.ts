import { randomUUID } from 'node:crypto'
import type { ChangeEvents } from '../../db/change-events.ts'
import { isConnectionRequired } from '../../dispatch/connection-required.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import type { PlatformError } from '../../model/errors.ts'
import type { ToolResult } from './results.ts'

const prefix = 'qm-connect-'
/** Shorter than the usual timeout of clients. Afterwards the model gets the link, and can call again. */
const longestWait = 50_000
/** Accounts of others change, too. The call is repeated at most this often. */
const pause = 1000

type Required = PlatformError<'CONNECTION_REQUIRED'>

/**
 * Asks the user of an MCP client to connect an account, and repeats the call once it is connected. A 2026 client gets the link as
 * the result, and repeats the call itself; its second request waits. A 2025 client is asked during the call. All
 * others, and those whose user declines, get the error, which has the link in its text.
 */
export async function connecting<Result>(
  live: Live,
  changes: ChangeEvents,
  make: (live: Live) => Promise<Result>,
): Promise<Result | ToolResult> {
  const { requester } = live
  const round = requester?.round
  const isSecond = round?.requestState?.startsWith(prefix) === true
  // The request state is ours. The upstream server has not asked anything yet.
  const own = requester && isSecond ? { ...live, requester: { ...requester, round: {} } } : live
  try {
    return await make(own)
  } catch (error) {
    if (!isConnectionRequired(error) || !requester?.abilities.elicitation?.url || error.details.connect_url === null) {
      throw error
    }
    if (round && !isSecond) return linkResult(error)
    const answer = round
      ? round.inputResponses?.connection
      : await requester.request({
          method: 'elicitation/create',
          params: { ...question(error), elicitationId: randomUUID() },
        })
    if (!isObject(answer) || answer.action !== 'accept') throw error
    return repeated(() => make(own), { changes, signal: live.signal, error })
  }
}

const question = ({ message, details: { connect_url } }: Required): JsonObject => ({
  mode: 'url',
  message: message.replace(
    / Open \S+ to connect an account, and call again\.$/,
    ' Open the page to connect an account.',
  ),
  url: connect_url,
})

const linkResult = (error: Required): ToolResult => ({
  resultType: 'input_required',
  inputRequests: { connection: { method: 'elicitation/create', params: question(error) } },
  requestState: prefix + randomUUID(),
  // Required by the result type.
  content: [],
})

interface Waiting {
  readonly changes: ChangeEvents
  readonly signal: AbortSignal | undefined
  readonly error: Required
}

/** Makes the call whenever a connection has changed, until it is no longer refused. */
async function repeated<Result>(make: () => Promise<Result>, { changes, signal, error }: Waiting): Promise<Result> {
  const until = Date.now() + longestWait
  let changed = Promise.withResolvers<void>()
  const wake = () => changed.resolve()
  const stop = changes.subscribe('connections', wake)
  const timer = setTimeout(wake, longestWait)
  signal?.addEventListener('abort', wake)
  try {
    for (;;) {
      // Before the call, so that no change is missed while it runs.
      changed = Promise.withResolvers()
      try {
        return await make()
      } catch (again) {
        if (!isConnectionRequired(again)) throw again
      }
      await changed.promise
      if (signal?.aborted || Date.now() >= until) throw error
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  } finally {
    stop()
    clearTimeout(timer)
    signal?.removeEventListener('abort', wake)
  }
}
