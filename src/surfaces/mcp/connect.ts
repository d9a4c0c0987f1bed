import { randomUUID } from 'node:crypto'
import type { ConnectionWaits, Waiter } from '../../credentials/connections/waits.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import type { ClientRequester } from '../../model/client-request.ts'
import { type ConnectionRequired, isConnectionRequired } from '../../model/connection-required.ts'
import type { ToolResult } from './results.ts'

const prefix = 'qm-connect-'
/** Shorter than the usual timeout of clients. Afterwards the model gets the link, and can call again. */
const longestWait = 50_000

/**
 * Asks the user of an MCP client to connect an account, and repeats the call once it is connected. A 2026 client gets the link as
 * the result, and repeats the call itself; its second request waits. A 2025 client is asked during the call, and notified
 * when the account is connected. All others, and those whose user declines, get the error, which has the link in its text.
 */
export async function connecting<Result>(
  live: Live,
  { waits, ...waiter }: Waiter & { readonly waits: ConnectionWaits },
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
    const answer = round ? round.inputResponses?.connection : await asked(error, requester, waiter, waits)
    if (!isObject(answer) || answer.action !== 'accept') throw error
    return waits.retry(() => make(own), { ...waiter, until: Date.now() + longestWait, gone: [live.signal] })
  }
}

/** Asks a 2025 client. If its user agrees, it is notified once the account is connected, even if the call has ended. */
async function asked(
  error: ConnectionRequired,
  requester: ClientRequester,
  waiter: Waiter,
  waits: ConnectionWaits,
): Promise<JsonObject> {
  const elicitationId = randomUUID()
  const watch = waits.watch({ ...waiter, until: Date.parse(String(error.details.expires_at)), gone: [] })
  void watch.woken.then((woken) => {
    watch[Symbol.dispose]()
    if (woken === 'connected') requester.notify?.('notifications/elicitation/complete', { elicitationId })
  })
  const params = { ...question(error), elicitationId }
  const answer = await requester.request({ method: 'elicitation/create', params })
  if (answer.action !== 'accept') watch[Symbol.dispose]()
  return answer
}

const question = ({ message, details: { connect_url } }: ConnectionRequired): JsonObject => ({
  mode: 'url',
  message: message.replace(
    / Open \S+ to connect an account, and call again\.$/,
    ' Open the page to connect an account.',
  ),
  url: connect_url,
})

const linkResult = (error: ConnectionRequired): ToolResult => ({
  resultType: 'input_required',
  inputRequests: { connection: { method: 'elicitation/create', params: question(error) } },
  requestState: prefix + randomUUID(),
  // Required by the result type.
  content: [],
})
