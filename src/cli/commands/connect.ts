import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { didYouMean, unquoted } from '../../lib/nearest.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, Refused, type Session } from '../toolkit/connection.ts'
import { difference } from '../toolkit/difference.ts'
import { isSet, readArguments, textOf } from '../toolkit/flags.ts'
import { note } from '../toolkit/terminal.ts'
import { type McpClient, mcpClients } from './mcp-clients.ts'

/** Prints what an MCP client must be told to use one of our servers, or writes it where the client looks. */
export const connect: Runner = async (args, { flags }) => {
  const read = readArguments(flags, args, 1)
  const client = clientOf(read.words[0])
  const session = await openSession(read.given)
  const slug = await serverOf(session, textOf(read, 'server'))
  const withKey = isSet(read.given, 'with-key')
  const url = `${session.connection.baseUrl.replace(/(\/api\/v1)?\/*$/, '')}/mcp/${slug}`
  const name = textOf(read, 'name') ?? slug
  const settings = client.settings({ url, name, key: withKey ? session.connection.token : undefined })
  const file = textOf(read, 'file') ?? client.file?.()
  if (isSet(read.given, 'write')) {
    if (file === undefined)
      throw new UsageError(`Where ${client.name} keeps its settings is not known: say it with --file.`)
    if (!withKey && !client.keyless) {
      throw new UsageError(
        `${client.name} takes the key from its settings file only. With --with-key it is written there.`,
      )
    }
    await write(file, settings, withKey)
  } else {
    if (file !== undefined) note(`For ${file}; --write puts it there:`)
    console.log(JSON.stringify(settings, null, 2))
  }
  if (withKey) note('The API key stands in it as it is: keep it to yourself, and out of version control.')
  else note(client.keyless ?? 'Put your API key in place of "sk_…", or have it done with --with-key.')
  note(client.next)
  return exit.ok
}

function clientOf(wanted: string | undefined): McpClient {
  const names = mcpClients.map(({ name }) => name)
  if (wanted === undefined) throw new UsageError(`Which client? There are ${names.join(', ')}.`)
  const found = mcpClients.find(({ name }) => name === wanted)
  if (found) return found
  const hint = didYouMean(wanted, names, unquoted) || ` There are ${names.join(', ')}.`
  throw new UsageError(`"${wanted}" is no client that is known here.${hint}`)
}

/** The one that is named, if it is there; else the only one there is. */
async function serverOf({ qm, connection }: Session, wanted: string | undefined): Promise<string> {
  if (wanted !== undefined) {
    const { data, error } = await qm.servers.getServer({ path: { server_id: wanted } })
    if (error) throw new Refused(error, connection.baseUrl)
    return data.slug
  }
  const { data, error } = await qm.servers.listServers({ query: { limit: 20 } })
  if (error) throw new Refused(error, connection.baseUrl)
  const slugs = data.data.map(({ slug }) => slug)
  if (slugs.length === 1) return slugs[0] as string
  throw new UsageError(
    slugs.length === 0
      ? 'There is no server yet: "quartermaster create-server --slug support" makes one.'
      : `Which server? Give one with --server: ${slugs.join(', ')}.`,
  )
}

/** Adds to what is there, keeps a copy of what was, and shows the difference. */
async function write(file: string, settings: Record<string, unknown>, isSecret: boolean): Promise<void> {
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new UsageError(`cannot read ${file} (${error.code}).`)
  })
  const merged = merge(parse(before, file), settings)
  const indent = /^[ \t]+/m.exec(before ?? '')?.[0] ?? '  '
  const after = `${JSON.stringify(merged, null, indent)}\n`
  if (before !== undefined && JSON.stringify(parse(before, file)) === JSON.stringify(merged)) {
    note(`${file} has it already.`)
    return
  }
  try {
    await mkdir(dirname(file), { recursive: true })
    if (before !== undefined) {
      const copy = `${file}.${new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)}.bak`
      await copyFile(file, copy)
      note(`What was there is kept in ${copy}.`)
    }
    await writeFile(file, after, isSecret ? { mode: 0o600 } : {})
  } catch (error) {
    throw new UsageError(`cannot write ${file} (${(error as NodeJS.ErrnoException).code}).`)
  }
  console.log(difference(before ?? '', after).replaceAll(/sk_\w+/g, 'sk_…'))
  note(`Wrote ${file}.`)
  if (isSecret && ((await stat(file)).mode & 0o077) !== 0) note(`Others on this machine can read it: chmod 600 ${file}`)
}

function parse(text: string | undefined, file: string): Record<string, unknown> {
  if (text === undefined || text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Comments would be lost: their owner is left to add the lines.
  }
  throw new UsageError(
    `${file} is not plain JSON (comments?), so it is left alone. Without --write it is printed, to add by hand.`,
  )
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Two levels deep: a server of the same name is replaced as a whole. */
function merge(before: Record<string, unknown>, added: Record<string, unknown>): Record<string, unknown> {
  const result = { ...before }
  for (const [key, value] of Object.entries(added)) {
    const there = before[key]
    if (Array.isArray(value) && Array.isArray(there)) {
      const ids = new Set(there.map((one) => (isObject(one) ? one.id : undefined)))
      result[key] = [...there, ...value.filter((one) => !ids.has((one as { id?: unknown }).id))]
    } else result[key] = isObject(value) && isObject(there) ? { ...there, ...value } : value
  }
  return result
}
