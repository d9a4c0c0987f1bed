import { askYes } from '../toolkit/ask.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, type Session } from '../toolkit/connection.ts'
import { isSet, readArguments, textOf } from '../toolkit/flags.ts'
import { print } from '../toolkit/print.ts'
import { canAsk, harmless, isForPeople, note, paint, withProgress } from '../toolkit/terminal.ts'
import { defaultFile, requireSound } from './check.ts'
import { type Project, readProject } from './file.ts'
import { type Fields, inputOf } from './kinds.ts'
import { ask, type Change, finder, type Plan, parameterOf, plan } from './plan.ts'

/** Makes the platform as the file says, and prints what that changes. */
export const apply: Runner = async (args, { flags }) => {
  const read = readArguments(flags, args, 1)
  const project = await readProject(read.words[0] ?? defaultFile)
  requireSound(project)
  const session = await openSession(read.given)
  const projectId = textOf(read, 'project-id')
  const prune = isSet(read.given, 'prune')
  const planned = await withProgress('Comparing …', plan(project, session, { projectId, prune }))
  const json = isSet(read.given, 'json')
  const isDry = isSet(read.given, 'dry-run')
  if (isDry) {
    show(planned.changes, json, isDry)
    return exit.ok
  }
  await confirm(planned, isSet(read.given, 'yes'))
  await perform(planned, { project, session, ids: planned.ids, projectId }, json)
  return exit.ok
}

const marks = { create: ['green', '+'], update: ['yellow', '~'], delete: ['red', '-'] } as const

function show(changes: readonly Change[], json: boolean, isDry: boolean): void {
  const real = changes.filter((one) => one.change !== 'none')
  if (!isForPeople(json)) {
    print(
      {
        dry_run: isDry,
        changes: real.map(({ kind, name, change, fields }) => ({ kind: kind.section, name, change, fields })),
        unchanged: changes.length - real.length,
      },
      { json },
    )
    return
  }
  for (const one of real) console.log(lineFor(one))
  const same = changes.length - real.length
  if (real.length === 0) console.log(paint('green', 'Nothing to change.'))
  else if (same > 0) console.log(paint('dim', `${same} unchanged.`))
}

function lineFor({ kind, name, change, fields }: Change): string {
  const [style, mark] = marks[change as keyof typeof marks]
  const what = fields.length > 0 ? paint('dim', ` (${fields.join(', ')})`) : ''
  return `${paint(style, mark)} ${kind.section}/${harmless(name)}${what}`
}

/** Nothing is deleted that nobody has said yes to. */
async function confirm({ changes }: Plan, isSure: boolean): Promise<void> {
  const removals = changes.filter(({ change }) => change === 'delete')
  const count = removals.length
  if (count === 0 || isSure) return
  if (!canAsk()) throw new UsageError(`This would delete ${count}: say so with --yes, or look first with --dry-run.`)
  for (const one of removals) note(lineFor(one))
  if (!(await askYes(`Delete ${count}?`))) throw new UsageError('Nothing was changed.')
}

/** Prints what was done, and nothing else, however far it came. */
async function perform({ changes }: Plan, work: Work, json: boolean): Promise<void> {
  const done: Change[] = []
  for (const one of changes) {
    try {
      if (one.change !== 'none') await withProgress(`${one.kind.section}/${one.name} …`, carryOut(one, work))
      done.push(one)
    } catch (error) {
      const made = done.filter(({ change }) => change !== 'none')
      if (made.length > 0 || !isForPeople(json)) show(done, json, false)
      const before = made.length === 0 ? 'Nothing was changed' : `${made.length} of the changes were made`
      note(`${before} before this one failed: ${one.kind.section}/${harmless(one.name)}`)
      throw error
    }
  }
  show(done, json, false)
}

interface Work {
  readonly project: Project
  readonly session: Session
  readonly ids: Map<string, string>
  readonly projectId: string | undefined
}

async function carryOut(
  { kind, name, change, fields, id = '' }: Change,
  { project, session, ids, projectId }: Work,
): Promise<void> {
  const pathFor = (operation: string) => ({ [parameterOf(operation)]: id })
  if (change === 'delete') {
    await ask(session, kind.remove, { path: pathFor(kind.remove) })
    return
  }
  const declared = project.sections.get(kind.section)?.get(name) ?? {}
  const input = inputOf(kind, name, declared, finder(ids, project))
  if (change === 'create') {
    const body = { ...input, ...(projectId && { project_id: projectId }) }
    const made = (await ask(session, kind.create, { body })) as Fields
    ids.set(`${kind.section}/${name}`, String(made.id))
    return
  }
  // Whoever points a provider elsewhere must send its secrets anew, so they always go along.
  const sent = Object.entries(input).filter(([field]) => fields.includes(field) || kind.secrets.includes(field))
  await ask(session, kind.update, { path: pathFor(kind.update), body: Object.fromEntries(sent) })
}
