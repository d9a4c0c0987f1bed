import type { Operations } from '../../sdk/index.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { got, openSession, Refused, type Session } from '../toolkit/connection.ts'
import { io, note, say } from '../toolkit/io.ts'
import { isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { columnsOf, cut, isForPeople, oneLine, pad, paint } from '../toolkit/terminal.ts'

type Call = Operations['calls']['listCalls']['answer']['data'][number]

const filters = ['tool', 'app', 'action', 'status', 'surface'] as const

/** Prints recent calls, oldest first. With --follow, also prints new calls as they end. */
export const logs: Runner = async (invocation) => {
  const read = readArguments(invocation, 0)
  const limit = Number(textOf(read, 'limit') ?? 20)
  if (!Number.isInteger(limit) || limit < 0 || limit > 500)
    throw new UsageError('--limit must be a number from 0 to 500.')
  const query = Object.fromEntries(
    filters.flatMap((name) => {
      const value = textOf(read, name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
  const text = textOf(read, 'search')
  if (text !== undefined) query.q = text
  const json = !isForPeople(isSet(read.given, 'json'))
  const session = await openSession(read.given)
  const show = createPrinter(json)
  const calls = await latest(session, { ...query, limit: Math.max(1, limit) })
  if (calls.length === 0 && query.tool !== undefined) await requireTool(session, query.tool)
  if (limit > 0) for (const call of calls) show(call)
  if (!isSet(read.given, 'follow')) return exit.ok
  return follow(session, query, show)
}

async function latest({ qm, connection }: Session, query: object): Promise<Call[]> {
  const { data, error } = await qm.calls.listCalls({ query })
  if (error) throw new Refused(error, connection.baseUrl)
  return [...data.data].reverse()
}

/** Throws if the tool does not exist. Only used for tools without calls, because a deleted tool may still have some. */
async function requireTool({ qm, connection }: Session, name: string): Promise<void> {
  const { error } = await qm.tools.getTool({ path: { tool_id: name } })
  if (error) throw new Refused(error, connection.baseUrl)
}

/** Prints each call once per status. */
function createPrinter(json: boolean): (call: Call) => void {
  const shown = new Set<string>()
  return (call) => {
    const key = `${call.id}/${call.status}`
    if (shown.has(key)) return
    if (shown.size > 5000) shown.clear()
    shown.add(key)
    say(json ? JSON.stringify(call) : line(call))
  }
}

const marks = { success: ['green', '✓'], pending: ['yellow', '●'] } as const

function line({ status, created_at, action, tool, tool_id, duration_ms, principal, error, id }: Call): string {
  const [style, mark] = status === 'success' || status === 'pending' ? marks[status] : (['red', '✗'] as const)
  const time = new Date(created_at).toTimeString().slice(0, 8)
  const took = duration_ms === null ? '' : `${Math.round(duration_ms)} ms`
  const room = columnsOf(io().stdout) - 8 - 2 - 10 - 6 - id.length
  const what = oneLine(action ?? tool ?? tool_id ?? 'unknown tool')
  const who = oneLine(principal.name)
  const middle = cut(`${what}  ${who}`, room)
  const first = `${paint('dim', time)} ${paint(style, mark)} ${pad(middle, room)}  ${took.padStart(9)}  ${paint('dim', id)}`
  if (!error) return first
  return `${first}\n  ${paint('red', cut(oneLine(`${error.code}: ${error.message}`), columnsOf(io().stdout) - 2))}`
}

/** Prints calls as they end. Reconnects when the platform restarts, and prints the calls made in between. */
async function follow(session: Session, query: object, show: (call: Call) => void): Promise<number> {
  const { qm } = session
  for (let isFirst = true; ; isFirst = false) {
    try {
      const events = got(await qm.calls.streamCalls({ query }))
      if (!isFirst) {
        for (const call of await latest(session, { ...query, limit: 100 })) show(call)
        note(paint('dim', 'Reconnected.', io().stderr))
      }
      for await (const { name, data } of events) if (name === 'call.ended') show(data as Call)
    } catch (error) {
      const isUnreachable = !(error instanceof Refused) || error.error.code === 'NETWORK'
      if (!isUnreachable || isFirst) throw error
    }
    if (isFirst) note(paint('dim', 'The platform closed the stream. Reconnecting …', io().stderr))
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}
