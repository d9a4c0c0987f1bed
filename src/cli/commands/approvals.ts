import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, Refused, type Session } from '../toolkit/connection.ts'
import { type Arguments, isSet, readArguments, textOf } from '../toolkit/flags.ts'
import { listColumns, print } from '../toolkit/print.ts'
import { isForPeople, note } from '../toolkit/terminal.ts'
import { verdict } from '../toolkit/verdict.ts'

/** What waits for a person: a live list on a terminal, and words for everyone else. */
export const approvals: Runner = async (args, { flags }) => {
  const read = readArguments(flags, args, 2)
  const [word, id] = read.words
  const session = await openSession(read.given)
  if (word === 'approve' || word === 'reject') return decide(word, id, read, session)
  if (word !== undefined && word !== 'list') throw new UsageError(`"${word}" is nothing that approvals can do.`)
  const json = isSet(read.given, 'json')
  if (word === undefined && isForPeople(json) && process.stdin.isTTY) {
    const { watchApprovals } = await import('./approvals-screen.ts')
    return watchApprovals(session)
  }
  const status = textOf(read, 'status') ?? 'pending'
  const { data, error } = await session.qm.approvals.listApprovals({ query: { status, limit: 200 } as never })
  if (error) throw new Refused(error, session.connection.baseUrl)
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
  const request = { path: { approval_id: id }, body: reason === undefined ? {} : { reason } }
  const outcome = await (word === 'approve' ? qm.approvals.approveCall(request) : qm.approvals.rejectCall(request))
  if (outcome.error) throw new Refused(outcome.error, connection.baseUrl)
  const json = isSet(read.given, 'json')
  if (!isForPeople(json)) print(outcome.data, { json })
  else note(verdict(outcome.data))
  return exit.ok
}
