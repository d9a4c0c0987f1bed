import { readFile } from 'node:fs/promises'
import { sendOperation } from '../project/plan.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession } from '../toolkit/connection.ts'
import { say } from '../toolkit/io.ts'
import { isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { harmless, isForPeople, paint, withProgress } from '../toolkit/terminal.ts'

interface Difference {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

interface Rehearsal {
  readonly turns: number
  readonly changed: readonly ({ readonly generation_id: string; readonly message: string } & Readonly<
    Record<'applies' | 'nodes' | 'tools', Difference>
  >)[]
  readonly reused: number
  readonly asked: number
  readonly cost: number
}

/** Shows what a changed manifest would change in recorded sessions. */
export const rehearse: Runner = async (invocation) => {
  const read = readArguments(invocation, 1)
  const [path] = read.words
  if (path === undefined) throw new UsageError('Name the manifest: quartermaster rehearse car-desk.yaml')
  const manifest = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot read ${path} (${error.code}).`)
  })
  const turns = textOf(read, 'turns')
  const projectId = textOf(read, 'project-id')
  const body = { manifest, ...(turns && { turns: Number(turns) }), ...(projectId && { project_id: projectId }) }
  const session = await openSession(read.given)
  const rehearsed = await withProgress('Rehearsing …', sendOperation(session, 'rehearse-manifest', { body }))
  const json = isSet(read.given, 'json')
  if (isForPeople(json)) show(rehearsed as Rehearsal)
  else print(rehearsed, { json })
  return exit.ok
}

function show({ turns, changed, reused, asked, cost }: Rehearsal): void {
  for (const turn of changed) {
    say(`${paint('yellow', '~')} ${turn.generation_id} ${harmless(JSON.stringify(turn.message))}`)
    for (const part of ['applies', 'nodes', 'tools'] as const) {
      for (const id of turn[part].added) say(`    ${paint('green', '+')} ${part} ${harmless(id)}`)
      for (const id of turn[part].removed) say(`    ${paint('red', '-')} ${part} ${harmless(id)}`)
    }
  }
  const price = cost > 0 ? `, $${cost.toFixed(4)}` : ''
  say(`${changed.length} of ${turns} turns would differ (${reused} answers reused, ${asked} questions asked${price}).`)
}
