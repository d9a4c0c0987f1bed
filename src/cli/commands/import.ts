import { glob, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { takeFolder } from '../../model/skill-file.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, Refused, type Session } from '../toolkit/connection.ts'
import { io, note, say } from '../toolkit/io.ts'
import { parseWithComments } from '../toolkit/json-with-comments.ts'
import { type Arguments, isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { noteIfAllSkipped } from '../toolkit/skipped.ts'
import { harmless, isForPeople, oneLine, paint, withProgress } from '../toolkit/terminal.ts'
import { importOpenApi } from './import-openapi.ts'

export const importFrom: Runner = async (invocation) => {
  const read = readArguments(invocation, 2)
  const [what, path] = read.words
  if (what !== 'mcp-servers' && what !== 'skills' && what !== 'openapi') {
    throw new UsageError('Say what to import: openapi, mcp-servers or skills.')
  }
  if (path === undefined) throw new UsageError(missing[what])
  const session = await openSession(read.given)
  if (what === 'openapi') return importOpenApi(path, read, session)
  return what === 'skills' ? importSkills(path, read, session) : importServers(path, read, session)
}

const missing = {
  openapi: 'The URL or file is missing.',
  'mcp-servers': 'The file is missing.',
  skills: 'The folder is missing.',
}

const projectOf = (read: Arguments) => {
  const id = textOf(read, 'project-id')
  return id === undefined ? {} : { project_id: id }
}

async function importServers(path: string, read: Arguments, { qm, connection }: Session): Promise<number> {
  const mcpServers = serversIn(path === '-' ? await text(io().stdin) : await load(path), path)
  const sent = qm.tools.importMcpServers({ body: { mcpServers, ...projectOf(read) } as never })
  const { data, error } = await withProgress('Importing …', sent)
  if (error) throw new Refused(error, connection.baseUrl)
  const lines = [
    ...data.created.map(({ name, id }) => line('+', 'green', `${name}  ${id}`)),
    ...data.skipped.map(({ name, reason, refused }) =>
      refused ? line('✗', 'red', `${name}: ${reason}`) : line('-', 'yellow', `${name}: ${reason}`),
    ),
  ]
  const code = finish(data, lines, data.skipped.filter(({ refused }) => refused).length, read)
  for (const { name, field, instead } of data.not_taken_over) {
    note(oneLine(`${name}: "${field}" was not imported. ${instead}`))
  }
  for (const { name, field, placeholder } of data.to_fill_in) {
    note(oneLine(`${name}: replace ${placeholder} in ${field} with its value, using update-tool --mcp.`))
  }
  return code
}

/** The section with the servers. Editors use three different names for it. */
function serversIn(content: string, path: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseWithComments(content)
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${(error as Error).message}.`)
  }
  const { mcpServers, servers, context_servers } = (value ?? {}) as Record<string, unknown>
  const found = mcpServers ?? servers ?? context_servers
  if (typeof found === 'object' && found !== null) return found as Record<string, unknown>
  throw new UsageError(`${path} has no "mcpServers" section.`)
}

const load = (path: string) =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot read ${path} (${error.code}).`)
  })

const maxBatchLength = 1_000_000
const maxSkills = 2000

async function importSkills(folder: string, read: Arguments, { qm, connection }: Session): Promise<number> {
  const paths: string[] = []
  for await (const path of glob('**/SKILL.md', { cwd: folder })) if (!path.includes('node_modules')) paths.push(path)
  if (paths.length === 0) throw new UsageError(`No SKILL.md was found in ${folder} or its subfolders.`)
  if (paths.length > maxSkills) {
    throw new UsageError(`${folder} has ${paths.length} skills. At most ${maxSkills} can be imported at once.`)
  }
  const all = {
    created: [] as unknown[],
    updated: [] as unknown[],
    skipped: [] as { path: string; reason: string }[],
    not_taken_over: [] as { path: string; field?: string }[],
  }
  const lines: string[] = []
  for (const files of await batches(folder, paths.sort())) {
    const sent = qm.skills.importSkills({ body: { files, ...projectOf(read) } })
    const { data, error } = await withProgress('Importing skills …', sent)
    if (error) throw new Refused(error, connection.baseUrl)
    all.created.push(...data.created)
    all.updated.push(...data.updated)
    all.skipped.push(...data.skipped)
    all.not_taken_over.push(...data.not_taken_over)
    lines.push(
      ...data.created.map(({ name }) => line('+', 'green', name)),
      ...data.updated.map(({ name }) => line('~', 'yellow', name)),
      ...data.skipped.map(({ path, reason }) => line('✗', 'red', `${path}: ${reason}`)),
    )
  }
  all.not_taken_over.push(...(await otherFiles(folder, paths)).map((path) => ({ path })))
  lines.push(
    ...all.not_taken_over.map(({ path, field }) =>
      line('!', 'yellow', `${path}: ${field ? `"${field}" ` : ''}was not imported, because a skill is only text`),
    ),
  )
  return finish(all, lines, all.skipped.length, read)
}

const maxOtherFiles = 100

/** The other files in the folder of a SKILL.md, such as scripts that its text may refer to. */
async function otherFiles(folder: string, paths: readonly string[]): Promise<string[]> {
  const others = new Set<string>()
  for (const skill of paths) {
    // A SKILL.md in the folder itself does not own the other files.
    if (dirname(skill) === '.') continue
    for (const entry of await readdir(join(folder, dirname(skill)), { recursive: true, withFileTypes: true })) {
      const path = relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/')
      if (entry.isFile() && entry.name !== 'SKILL.md' && !path.includes('node_modules')) others.add(path)
      if (others.size === maxOtherFiles) return [...others].sort()
    }
  }
  return [...others].sort()
}

/** Splits the files into several requests, so that none exceeds the size limit of the platform. */
async function batches(folder: string, paths: readonly string[]): Promise<Record<string, string>[]> {
  const result: Record<string, string>[] = []
  let size = Number.POSITIVE_INFINITY
  for (const path of paths) {
    const content = await load(join(folder, path))
    if (size + content.length > maxBatchLength) {
      result.push({})
      size = 0
    }
    size += content.length
    Object.assign(result.at(-1) ?? {}, { [path.replaceAll('\\', '/')]: content })
  }
  return result
}

const line = (mark: string, style: 'green' | 'yellow' | 'red', what: string) =>
  `${paint(style, mark)} ${harmless(what)}`

/** Prints the result. Returns exit code 1 if something was skipped, so that scripts notice. */
function finish(data: unknown, lines: readonly string[], skipped: number, read: Arguments): number {
  const json = isSet(read.given, 'json')
  if (isForPeople(json)) say(lines.join('\n'))
  else print(data, { json })
  noteIfAllSkipped(data)
  return skipped > 0 ? exit.refused : exit.ok
}

/** Writes each skill as a SKILL.md in its own folder. */
export const exportTo: Runner = async (invocation) => {
  const read = readArguments(invocation, 2)
  const [what, folder] = read.words
  if (what !== 'skills') throw new UsageError('Say what to export: skills.')
  if (folder === undefined) throw new UsageError('The folder is missing.')
  const session = await openSession(read.given)
  const { qm, connection } = session
  const written: { path: string; state: 'written' | 'same' | 'kept' }[] = []
  const taken = new Set<string>()
  for (const id of await listIds(session, projectOf(read))) {
    const { data, error } = await qm.skills.exportSkill({ path: { skill_id: id } })
    if (error) throw new Refused(error, connection.baseUrl)
    // Two names may map to one folder, such as "Pay back" and "pay-back". The file contains the exact name.
    const path = `${takeFolder(dirname(data.path).toLowerCase(), taken)}/SKILL.md`
    written.push({ path, state: await writeInto(folder, { ...data, path }, isSet(read.given, 'force')) })
  }
  const marks = { written: ['+', 'green'], same: ['=', 'yellow'], kept: ['✗', 'red'] } as const
  const lines = written.map(({ path, state }) => {
    const [mark, style] = marks[state]
    return line(mark, style, state === 'kept' ? `${path}: a different file exists; overwrite it with --force` : path)
  })
  return finish({ written }, lines, written.filter(({ state }) => state === 'kept').length, read)
}

/** The ids of all skills, oldest first, so that each skill gets the same folder every time. */
async function listIds({ qm, connection }: Session, project: { project_id?: string }): Promise<string[]> {
  const ids = new Set<string>()
  for (let total = 1, offset = 0; offset < total; ) {
    const { data: page, error } = await qm.skills.listSkills({ query: { limit: 100, offset, ...project } })
    if (error) throw new Refused(error, connection.baseUrl)
    for (const { id } of page.data) ids.add(id)
    offset += page.data.length
    total = page.data.length === 0 ? 0 : page.total
  }
  return [...ids].sort()
}

async function writeInto(folder: string, file: { path: string; content: string }, force: boolean) {
  const path = resolve(folder, file.path)
  // The name comes from the platform and must not point outside of the folder.
  if (relative(folder, path).split(/[\\/]/)[0] === '..') throw new UsageError(`"${file.path}" is outside of ${folder}.`)
  const before = await readFile(path, 'utf8').catch(() => undefined)
  if (before === file.content) return 'same'
  if (before !== undefined && !force) return 'kept'
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, file.content)
  } catch (error) {
    throw new UsageError(`Cannot write ${path} (${(error as NodeJS.ErrnoException).code}).`)
  }
  return 'written'
}
