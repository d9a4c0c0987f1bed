import { readFile } from 'node:fs/promises'
import { sendOperation } from '../project/plan.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession } from '../toolkit/connection.ts'
import { note, say } from '../toolkit/io.ts'
import { isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { harmless, isForPeople, paint, withProgress } from '../toolkit/terminal.ts'

interface Difference {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

const parts = ['applies', 'nodes', 'tools', 'calls', 'violations'] as const

interface Rehearsal {
  readonly sessions: number
  readonly turns: number
  readonly changed: readonly ({
    readonly session_id: string
    readonly generation_id: string
    readonly message: string
    readonly reply: { readonly before: string; readonly after: string } | null
  } & Readonly<Record<(typeof parts)[number], Difference>>)[]
  readonly reused: number
  readonly asked: number
  readonly cost: number
  readonly faults: readonly string[]
}

/** Shows what a changed manifest would change in recorded sessions. */
export const rehearse: Runner = async (invocation) => {
  const read = readArguments(invocation, 1)
  const [path] = read.words
  if (path === undefined) throw new UsageError('Name the manifest: quartermaster rehearse car-desk.yaml')
  const manifest = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot read ${path} (${error.code}).`)
  })
  const projectId = textOf(read, 'project-id')
  const body = { manifest, ...sessionsIn(textOf(read, 'sessions')), ...(projectId && { project_id: projectId }) }
  const session = await openSession(read.given)
  const rehearsed = await withProgress('Rehearsing …', sendOperation(session, 'rehearse-manifest', { body }))
  const json = isSet(read.given, 'json')
  if (isForPeople(json)) show(rehearsed as Rehearsal)
  else print(rehearsed, { json })
  return exit.ok
}

/** `last:50`, or ids. */
function sessionsIn(text: string | undefined): { sessions?: number; session_ids?: string[] } {
  if (text === undefined) return {}
  const count = /^last:(\d+)$/.exec(text)?.[1]
  if (count !== undefined) return { sessions: Number(count) }
  const ids = text.split(',').map((id) => id.trim())
  if (ids.every((id) => /^sess_\w+$/.test(id))) return { session_ids: ids }
  throw new UsageError('--sessions must be last:<number>, or ids of sessions with commas.')
}

function show({ sessions, turns, changed, reused, asked, cost, faults }: Rehearsal): void {
  for (const turn of changed) {
    say(`${paint('yellow', '~')} ${turn.session_id} ${turn.generation_id} ${harmless(JSON.stringify(turn.message))}`)
    for (const part of parts) {
      for (const id of turn[part].added) say(`    ${paint('green', '+')} ${part} ${harmless(id)}`)
      for (const id of turn[part].removed) say(`    ${paint('red', '-')} ${part} ${harmless(id)}`)
    }
    if (!turn.reply) continue
    say(`    ${paint('red', '-')} reply ${harmless(JSON.stringify(turn.reply.before))}`)
    say(`    ${paint('green', '+')} reply ${harmless(JSON.stringify(turn.reply.after))}`)
  }
  for (const fault of faults) note(`${paint('yellow', '!')} ${harmless(fault)}`)
  const price = cost > 0 ? `, $${cost.toFixed(4)}` : ''
  const differ = `${changed.length} of ${turns} turns in ${sessions} sessions would differ`
  say(`${differ} (${reused} answers reused, ${asked} questions asked${price}).`)
}
