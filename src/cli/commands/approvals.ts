import type { ApprovalStatus } from '../../sdk/index.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, Refused, type Session } from '../toolkit/connection.ts'
import { io, note } from '../toolkit/io.ts'
import { type Arguments, isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { listColumns, print, printField } from '../toolkit/print.ts'
import { parseObject, readSource } from '../toolkit/request.ts'
import { isForPeople } from '../toolkit/terminal.ts'
import { verdict } from '../toolkit/verdict.ts'

/** A live list on a terminal, and subcommands for scripts. */
export const approvals: Runner = async (invocation) => {
  const read = readArguments(invocation, 2)
  const [word, id] = read.words
  const session = await openSession(read.given)
  if (word === 'approve' || word === 'reject') return decide(word, id, read, session)
  if (word !== undefined && word !== 'list')
    throw new UsageError(`Unknown subcommand "${word}". Use list, approve or reject.`)
  const json = isSet(read.given, 'json')
  if (word === undefined && isForPeople(json) && io().stdin.isTTY) {
    const { watchApprovals } = await import('./approvals-screen.ts')
    return watchApprovals(session)
  }
  const status = textOf(read, 'status') ?? 'pending'
  const { data, error } = await session.qm.approvals.listApprovals({
    query: { status: status as ApprovalStatus, limit: 200 },
  })
  if (error) throw new Refused(error, session.connection.baseUrl)
  const field = textOf(read, 'field')
  if (field !== undefined) return printField(data, field)
  print(data, { json, columns: listColumns['list-approvals'] })
  return exit.ok
}

async function decide(
  word: 'approve' | 'reject',
  id: string | undefined,
  read: Arguments,
  { qm, connection }: Session,
): Promise<number> {
  if (id === undefined) throw new UsageError(`The id of the approval is missing: quartermaster approvals ${word} apr_…`)
  const reason = textOf(read, 'reason')
  const path = { approval_id: id }
  const body = reason === undefined ? {} : { reason }
  const input = await inputOf(word, textOf(read, 'input'))
  const outcome = await (word === 'approve'
    ? qm.approvals.approveCall({ path, body: { ...body, ...(input && { input }) } })
    : qm.approvals.rejectCall({ path, body }))
  if (outcome.error) throw new Refused(outcome.error, connection.baseUrl)
  const field = textOf(read, 'field')
  if (field !== undefined) return printField(outcome.data, field)
  const json = isSet(read.given, 'json')
  if (!isForPeople(json)) print(outcome.data, { json })
  else note(verdict(outcome.data))
  return exit.ok
}

/** The arguments that replace those of the call. */
async function inputOf(word: string, text: string | undefined): Promise<Record<string, unknown> | undefined> {
  if (text === undefined) return undefined
  if (word === 'reject') throw new UsageError('--input is for "approvals approve" only.')
  return parseObject('input', await readSource('input', text))
}
