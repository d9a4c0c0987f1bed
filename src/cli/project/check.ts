import { Schemas } from '../../json-schema/schema.ts'
import { faultsOf } from '../../model/faults.ts'
import { readToolReference } from '../../model/tool-reference.ts'
import { builtIn, operations } from '../../operations/index.ts'
import { faultsOfTool } from '../../operations/tools.ts'
import { checkDrafts, type DraftTool } from '../../tools/workflow/offline.ts'
import { exit, InvalidFile, type Runner, UsageError } from '../toolkit/command.ts'
import { looksLikeId } from '../toolkit/find.ts'
import { note, say } from '../toolkit/io.ts'
import { isSet, readArguments } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { harmless, isForPeople, paint } from '../toolkit/terminal.ts'
import { counted } from './counted.ts'
import { type Fault, type Project, readProject } from './file.ts'
import { type Fields, identityOf, inputOf, type Kind, kinds } from './kinds.ts'
import { checkManifest, findManifest, showsJson } from './manifest.ts'
import { isInFile, type Reference, referencesOf } from './references.ts'

export const defaultFile = 'quartermaster.yaml'

/** Validates a project file or a manifest without connecting to a platform. */
export const check: Runner = async (invocation) => {
  const { words, given } = readArguments(invocation, 1)
  const manifest = await findManifest(words[0] ?? defaultFile)
  if (manifest) return checkManifest(manifest, isSet(given, 'json'))
  const project = await readProject(words[0] ?? defaultFile)
  const faults = await allFaults(project)
  const json = isSet(given, 'json')
  const elsewhere = referencesOf(project)
    .filter((one) => !isInFile(project, one) && !(one.byName && !looksLikeId(one.wanted)))
    .map(({ place, section, wanted }) => ({ line: project.lineOf(place), path: place.join('.'), section, wanted }))
  if (showsJson(faults, json)) print({ faults, unset: project.unset, elsewhere }, { json })
  else if (faults.length === 0) say(`${paint('green', '✓')} ${summaryOf(project)}`)
  if (!showsJson(faults, json)) noteFaults(project, faults)
  for (const { line, path, section, wanted } of isForPeople(json) ? elsewhere : []) {
    const message = `${path}: "${wanted}" is not in this file, so it must exist on the platform under ${section}`
    note(faultLine(project, { line, message }))
  }
  return faults.length > 0 ? exit.refused : exit.ok
}

/** Throws if the file is not valid. */
export async function requireValid(project: Project): Promise<void> {
  const faults = await allFaults(project)
  if (project.unset.length > 0)
    throw new UsageError(`These environment variables are not set: ${project.unset.join(', ')}.`)
  if (faults.length === 0) return
  throw new InvalidFile(['The file is not valid:', ...faults.map((fault) => faultLine(project, fault))].join('\n'))
}

function noteFaults(project: Project, faults: readonly Fault[]): void {
  for (const fault of faults) note(faultLine(project, fault))
  if (project.unset.length > 0)
    note(`Set these environment variables before you apply the file: ${project.unset.join(', ')}`)
}

export const faultLine = ({ path }: Project, { line, column, message }: Fault) =>
  `${path}:${line}${column === undefined ? '' : `:${column}`}: ${harmless(message)}`

const summaryOf = ({ sections }: Project): string =>
  `The file is valid: ${[...sections].map(([section, entries]) => counted(entries.size, section)).join(', ') || 'it is empty'}.`

async function allFaults(project: Project): Promise<Fault[]> {
  const entries = kinds.flatMap((kind) => {
    const declared = project.sections.get(kind.section) ?? new Map<string, Fields>()
    return [...declared].flatMap(([name, fields]) => faultsIn(project, kind, name, fields))
  })
  const references = referencesOf(project).flatMap((one) => findNameFault(project, one) ?? [])
  const tools = entries.length === 0 ? [...(await toolFaults(project)), ...(await workflowFaults(project))] : []
  return [...project.faults, ...entries, ...references, ...tools].sort((a, b) => a.line - b.line)
}

function faultsIn(project: Project, kind: Kind, name: string, fields: Fields): Fault[] {
  for (const [field, value] of Object.entries(identityOf(kind, name))) {
    if (!(field in fields) || fields[field] === value) continue
    const line = project.lineOf([kind.section, name, field])
    return [{ line, message: `${kind.section}.${name}.${field} is already set by the entry's name. Remove it` }]
  }
  const result = parsed(
    kind,
    inputOf(kind, name, fields, (_, one) => one),
  )
  if (result.success) return []
  const written = new Map(Object.entries(kind.references).map(([key, { field }]) => [field, key]))
  return faultsOf(result.error).map(({ path, message }) => {
    const [first = '', ...rest] = path.split(/[.[\]]+/).filter((part) => part !== '')
    const place = [written.get(first) ?? first, ...rest]
    const words = [kind.section, name, ...(first === kind.by ? [] : place)]
    return { line: project.lineOf(words), message: `${words.join('.')} ${message}` }
  })
}

/** The faults of tools that only their type knows, such as an invalid URL or JSON Schema. */
async function toolFaults(project: Project): Promise<Fault[]> {
  const { types, platformActions } = builtIn
  const schemas = new Schemas()
  try {
    const found: Fault[] = []
    for (const [key, fields] of project.sections.get('tools') ?? []) {
      if (project.unset.some((variable) => JSON.stringify(fields).includes(`$${variable}`))) continue
      const { name } = readToolReference(key)
      // Programs may be allowed on the platform.
      const deps = { schemas, platformActions, allowStdio: true }
      for (const { path, message } of await faultsOfTool({ ...fields, name }, types, deps)) {
        const place = ['tools', key, ...path.split(/[.[\]]+/).filter((part) => part !== '')]
        found.push({ line: project.lineOf(place), message: `${place.join('.')} ${message}` })
      }
    }
    return found
  } finally {
    await schemas.close()
  }
}

/** The faults of workflows: their expressions, and the arguments of actions that are in the file. */
async function workflowFaults(project: Project): Promise<Fault[]> {
  const drafts = [...(project.sections.get('tools') ?? [])].map(([key, fields]) => ({ ...draftOf(key, fields), key }))
  const checked = await checkDrafts(drafts)
  return checked.flatMap(({ draft, faults }) =>
    faults.map(({ path, message, at }) => {
      const { key } = draft as (typeof drafts)[number]
      const place = ['tools', key, ...path.split(/[.[\]]+/).filter((part) => part !== '')]
      const where = at === undefined ? { line: project.lineOf(place) } : project.placeOf(place, at)
      return { ...where, message: `${place.join('.')} ${message}` }
    }),
  )
}

function draftOf(key: string, fields: Fields): DraftTool {
  const { app = fields.app, name } = readToolReference(key)
  return { app: typeof app === 'string' ? app : undefined, name, fields }
}

/** The fault of a reference that has a name where only ids are allowed. */
function findNameFault(project: Project, { place, wanted, byName }: Reference): Fault | undefined {
  if (byName === undefined || looksLikeId(wanted)) return undefined
  const [section, name, used] = place
  const message = `${place.join('.')} must be an id, but "${wanted}" is not. To use a name, write ${byName} instead of ${used}`
  return { line: project.lineOf(place), message: `${message} in ${section}.${name}` }
}

/** Validates with the schema of the operation. */
export function parsed(kind: Kind, input: Fields) {
  const operation = operations.find(({ name }) => name === kind.create)
  if (!operation) throw new Error(`there is no operation ${kind.create}`)
  return operation.input.safeParse(input)
}
