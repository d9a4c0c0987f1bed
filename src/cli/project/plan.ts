import { isDeepStrictEqual } from 'node:util'
import { readReplayScript } from '../../model/replay-script.ts'
import { send } from '../../sdk/send.ts'
import { commands } from '../generated.ts'
import { UsageError } from '../toolkit/command.ts'
import { Refused, type Session } from '../toolkit/connection.ts'
import { looksLikeId } from '../toolkit/find.ts'
import { faultLine, parsed } from './check.ts'
import { Existing } from './existing.ts'
import type { Project } from './file.ts'
import { type Fields, type FindId, inputOf, type Kind, kinds } from './kinds.ts'
import { isInFile, type Reference, referencesOf } from './references.ts'

export interface Change {
  readonly kind: Kind
  readonly name: string
  readonly change: 'create' | 'update' | 'delete' | 'none'
  /** The fields that differ. */
  readonly fields: readonly string[]
  /** Fields that look the same, but contain masked secrets. Only the platform can tell whether these differ. */
  readonly masked?: readonly string[]
  readonly id?: string
  readonly updatedAt?: unknown
}

export interface Plan {
  readonly changes: readonly Change[]
  /** Ids by section and name, of existing records and of those that are created while applying. */
  readonly ids: Map<string, string>
}

/** Sends an operation by its name. */
export async function sendOperation(
  { connection }: Session,
  name: string,
  request: Parameters<typeof send>[2],
): Promise<unknown> {
  const command = commands.find((one) => one.name === name)
  if (!command) throw new Error(`there is no operation ${name}`)
  const { data, error } = await send(connection, command, request)
  if (error) throw new Refused(error, connection.baseUrl)
  return data
}

/** The parameter of an operation's route: `tool_id`. */
export const parameterOf = (name: string): string =>
  commands.find((one) => one.name === name)?.fields.find(({ where }) => where === 'path')?.name ?? ''

export interface PlanOptions {
  readonly projectId: string | undefined
  readonly prune: boolean
}

/** The changes that make the platform match the file. */
export async function plan(project: Project, session: Session, options: PlanOptions): Promise<Plan> {
  const ids = new Map<string, string>()
  const changes: Change[] = []
  const removals: Change[] = []
  const existingOf = new Map<Kind, Existing>()
  for (const kind of kinds) {
    const existing = new Existing(kind, await listAll(kind, session, options))
    existingOf.set(kind, existing)
    for (const [key, record] of existing.byKey) ids.set(`${kind.section}/${key}`, String(record.id))
  }
  await requireReferences(project, ids, session)
  const findId = finder(ids, project)
  for (const kind of kinds) {
    const declared = project.sections.get(kind.section)
    if (!declared) continue
    const existing = existingOf.get(kind) as Existing
    const matched = existing.match(declared)
    for (const [name, fields] of declared) {
      const record = matched.get(name)
      if (record) ids.set(`${kind.section}/${name}`, String(record.id))
      changes.push(await compare(kind, name, inputOf(kind, name, fields, findId), record, session))
    }
    if (!options.prune) continue
    const kept = new Set(matched.values())
    for (const record of existing.records.filter((one) => !kept.has(one))) {
      const name = existing.keyOf(record)
      removals.unshift({ kind, name, change: 'delete', fields: [], id: String(record.id) })
    }
  }
  return { changes: [...changes, ...removals], ids }
}

/** Resolves names to ids. Records that will be created get a placeholder. */
export const finder =
  (ids: ReadonlyMap<string, string>, project: Project): FindId =>
  (section, name) =>
    ids.get(`${section}/${name}`) ?? (project.sections.get(section)?.has(name) ? `(new) ${name}` : name)

/** Throws if the file refers to records that neither the file nor the platform has, before anything is changed. */
async function requireReferences(project: Project, ids: ReadonlyMap<string, string>, session: Session): Promise<void> {
  const known = new Set(ids.values())
  const dangling: Reference[] = []
  for (const one of referencesOf(project)) {
    const { section, wanted, byName } = one
    if (isInFile(project, one) || known.has(wanted)) continue
    if (byName === undefined && ids.has(`${section}/${wanted}`)) continue
    if (looksLikeId(wanted) && (await exists(section, wanted, session))) known.add(wanted)
    else dangling.push(one)
  }
  if (dangling.length === 0) return
  const lines = dangling.map(({ place, section, wanted }) => {
    const meant = [...ids.keys()].filter((key) => key.startsWith(`${section}/`) && key.endsWith(`/${wanted}`))
    const names = meant.map((key) => key.slice(section.length + 1)).sort()
    const message =
      names.length > 1
        ? `${place.join('.')}: "${wanted}" is ambiguous. Write ${names.join(' or ')}.`
        : `${place.join('.')}: "${wanted}" was not found in the file or on the platform under ${section}.`
    return faultLine(project, { line: project.lineOf(place), message })
  })
  throw new UsageError(['The file has references that cannot be resolved:', ...lines].join('\n'))
}

/** Looks up a record that was not listed: it may be in another project, or this key may use but not read it. */
async function exists(section: string, id: string, session: Session): Promise<boolean> {
  const { get = '' } = kinds.find((kind) => kind.section === section) ?? {}
  try {
    await sendOperation(session, get, { path: { [parameterOf(get)]: id } })
  } catch (error) {
    if (error instanceof Refused && error.error.code === 'RESOURCE_NOT_FOUND') return false
    if (!(error instanceof Refused) || error.error.code !== 'FORBIDDEN') throw error
  }
  return true
}

async function listAll(kind: Kind, session: Session, { projectId }: PlanOptions): Promise<Fields[]> {
  const found: Fields[] = []
  for (let offset = 0, total = 1; offset < total; ) {
    const query = { limit: 500, offset, ...(projectId && { project_id: projectId }) }
    const page = (await sendOperation(session, kind.list, { query })) as { data: Fields[]; total: number }
    found.push(...page.data)
    offset += page.data.length
    total = page.data.length === 0 ? 0 : page.total
  }
  return found
}

async function compare(
  kind: Kind,
  name: string,
  input: Fields,
  listed: Fields | undefined,
  session: Session,
): Promise<Change> {
  if (!listed) return { kind, name, change: 'create', fields: [] }
  const id = String(listed.id)
  // Lists may leave out long fields.
  const path = { [parameterOf(kind.get)]: id }
  const record = (await sendOperation(session, kind.get, { path })) as Fields
  const read = parsed(kind, input)
  const wanted = (read.success ? read.data : input) as Fields
  const fields = Object.keys(input).filter((field) => !isSame(kind, field, wanted[field], record))
  const masked = Object.keys(input).filter((field) => hasMask(record[field]) && !kind.secrets.includes(field))
  const change = fields.length > 0 ? 'update' : 'none'
  return { kind, name, id, change, fields, masked, updatedAt: record.updated_at }
}

const mask = '[hidden]'
const hasMask = (value: unknown) => (JSON.stringify(value) ?? '').includes(mask)

function isSame(kind: Kind, field: string, wanted: unknown, record: Fields): boolean {
  if (kind.secrets.includes(field)) return isSameSecret(field, wanted, record)
  if (isSameUnmasked(plain(wanted), plain(record[field]))) return true
  // A script is stored as text, whatever its original form.
  return field === 'script' && isDeepStrictEqual(asScript(wanted), asScript(record[field]))
}

/** Compares values. A mask stands for any text. */
function isSameUnmasked(wanted: unknown, shown: unknown): boolean {
  if (typeof wanted === 'string' && typeof shown === 'string' && shown.includes(mask)) {
    const parts = shown.split(mask).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    return new RegExp(`^${parts.join('.+')}$`, 's').test(wanted)
  }
  if (typeof wanted !== 'object' || typeof shown !== 'object' || !wanted || !shown) return wanted === shown
  const keys = Object.keys(wanted)
  return (
    Array.isArray(wanted) === Array.isArray(shown) &&
    keys.length === Object.keys(shown).length &&
    keys.every((key) => Object.hasOwn(shown, key) && isSameUnmasked((wanted as Fields)[key], (shown as Fields)[key]))
  )
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))

/** The script as the platform parses it. */
function asScript(value: unknown): unknown {
  const read = readReplayScript(value)
  return 'script' in read ? plain(read.script) : value
}

/** The platform returns only the last characters of a key and the names of headers, so only these are compared. */
function isSameSecret(field: string, wanted: unknown, record: Fields): boolean {
  if (field === 'api_key') {
    const hint = typeof record.api_key_hint === 'string' ? record.api_key_hint.replaceAll(/[^\x21-\x7e]/g, '') : ''
    if (wanted === null) return record.has_api_key === false
    return record.has_api_key === true && String(wanted).endsWith(hint.replaceAll(/^[.*]+/g, ''))
  }
  const names = (value: unknown) =>
    Object.keys((value ?? {}) as Fields)
      .map((name) => name.toLowerCase())
      .sort()
  return isDeepStrictEqual(names(wanted), names(record[field]))
}
