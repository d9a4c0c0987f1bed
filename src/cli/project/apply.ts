import { askYes } from '../toolkit/ask.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, type Session } from '../toolkit/connection.ts'
import { note, say } from '../toolkit/io.ts'
import { isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { canAsk, harmless, isForPeople, paint, withProgress } from '../toolkit/terminal.ts'
import { applyManifest } from './apply-manifest.ts'
import { defaultFile, requireValid } from './check.ts'
import { type Project, readProject } from './file.ts'
import { type Fields, inputOf } from './kinds.ts'
import { findManifest } from './manifest.ts'
import { type Change, finder, type Plan, parameterOf, plan, sendOperation } from './plan.ts'

/** Makes the platform match the file, and prints the changes. */
export const apply: Runner = async (invocation) => {
  const read = readArguments(invocation, 1)
  const manifest = await findManifest(read.words[0] ?? defaultFile)
  if (manifest) return applyManifest(manifest, read)
  const project = await readProject(read.words[0] ?? defaultFile)
  await requireValid(project)
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
  for (const one of real) say(lineFor(one))
  const same = changes.length - real.length
  if (real.length === 0) say(paint('green', 'No changes.'))
  else if (same > 0) say(paint('dim', `${same} unchanged.`))
}

function lineFor({ kind, name, change, fields }: Change): string {
  const [style, mark] = marks[change as keyof typeof marks]
  const what = fields.length > 0 ? paint('dim', ` (${fields.join(', ')})`) : ''
  return `${paint(style, mark)} ${kind.section}/${harmless(name)}${what}`
}

/** Asks for confirmation before anything is deleted. */
async function confirm({ changes }: Plan, isSure: boolean): Promise<void> {
  const removals = changes.filter(({ change }) => change === 'delete')
  const count = removals.length
  if (count === 0 || isSure) return
  if (!canAsk())
    throw new UsageError(`This would delete ${counted(count)}. Confirm with --yes, or see the changes with --dry-run.`)
  for (const one of removals) note(lineFor(one))
  if (!(await askYes(`Delete ${counted(count)}?`))) throw new UsageError('Nothing was changed.')
}

const counted = (count: number): string => (count === 1 ? '1 record' : `${count} records`)

/** Prints the changes that were made, also if one of them failed. */
async function perform({ changes }: Plan, work: Work, json: boolean): Promise<void> {
  const done: Change[] = []
  for (const one of changes) {
    try {
      done.push(await withProgress(`${one.kind.section}/${one.name} …`, carryOut(one, work)))
    } catch (error) {
      const made = done.filter(({ change }) => change !== 'none')
      if (made.length > 0 || !isForPeople(json)) show(done, json, false)
      const before = made.length === 0 ? 'Nothing was changed' : `Changes made: ${made.length}`
      note(`${before} before this change failed: ${one.kind.section}/${harmless(one.name)}`)
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

/** Returns the change that was made. */
async function carryOut(planned: Change, { project, session, ids, projectId }: Work): Promise<Change> {
  const { kind, name, change, fields, masked = [], id = '', updatedAt } = planned
  if (change === 'none' && masked.length === 0) return planned
  const pathFor = (operation: string) => ({ [parameterOf(operation)]: id })
  if (change === 'delete') {
    await sendOperation(session, kind.remove, { path: pathFor(kind.remove) })
    return planned
  }
  const declared = project.sections.get(kind.section)?.get(name) ?? {}
  const input = inputOf(kind, name, declared, finder(ids, project))
  if (change === 'create') {
    const body = { ...input, ...(projectId && { project_id: projectId }) }
    const made = (await sendOperation(session, kind.create, { body })) as Fields
    ids.set(`${kind.section}/${name}`, String(made.id))
    return planned
  }
  // A change of a provider's address requires its secrets again, so they are always sent.
  const names = [...fields, ...masked, ...kind.secrets]
  const body = Object.fromEntries(Object.entries(input).filter(([field]) => names.includes(field)))
  const updated = (await sendOperation(session, kind.update, { path: pathFor(kind.update), body })) as Fields
  // The platform changes nothing if the secrets are the same.
  return change === 'none' && updated.updated_at !== updatedAt
    ? { ...planned, change: 'update', fields: masked }
    : planned
}
