import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { didYouMean, unquoted } from '../../lib/nearest.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { openSession, Refused, type Session } from '../toolkit/connection.ts'
import { difference } from '../toolkit/difference.ts'
import { note, say } from '../toolkit/io.ts'
import { isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { type McpClient, mcpClients } from './mcp-clients.ts'
import { addSettings } from './settings-file.ts'

/** Prints the settings with which an MCP client connects to a server, or writes them to the client's file. */
export const connect: Runner = async (invocation) => {
  const read = readArguments(invocation, 1)
  const client = clientOf(read.words[0])
  const session = await openSession(read.given)
  const slug = await serverOf(session, textOf(read, 'server'))
  const withKey = isSet(read.given, 'with-key')
  const isAdmin = await hasAdminKey(session)
  if (isAdmin && withKey && !isSet(read.given, 'force')) {
    throw new UsageError(`${adminWarning(client)}\nTo write the admin key anyway, add --force.`)
  }
  const url = `${session.connection.baseUrl.replace(/(\/api\/v1)?\/*$/, '')}/mcp/${slug}`
  const name = textOf(read, 'name') ?? slug
  const settings = client.settings({ url, name, key: withKey ? session.connection.token : undefined })
  const file = textOf(read, 'file') ?? client.file?.()
  if (isSet(read.given, 'write')) {
    if (file === undefined) {
      throw new UsageError(`${client.name} has no known settings file. Choose a file with --file.`)
    }
    if (!withKey && !client.keyless) {
      throw new UsageError(
        `${client.name} reads the API key only from its settings file. Add --with-key to write the key there.`,
      )
    }
    await write(file, settings, withKey)
  } else {
    if (file !== undefined) note(`Add this to ${file}, or run the command again with --write:`)
    say(JSON.stringify(settings, null, 2))
  }
  if (withKey) note('The settings contain your API key. Do not share the file or commit it to version control.')
  else note(client.keyless ?? 'Replace "sk_…" with your API key, or add --with-key.')
  if (isAdmin) note(adminWarning(client))
  note(client.next)
  return exit.ok
}

/** Whether the key in use can do everything. A key that the platform does not describe counts as limited. */
async function hasAdminKey({ qm }: Session): Promise<boolean> {
  const { data } = await qm.apiKeys.getCurrentApiKey()
  return data?.access_policies.some(({ id }) => id === 'pol_administrator') ?? false
}

const adminWarning = ({ name }: McpClient): string =>
  `This is an admin key. Create one for the client: quartermaster create-api-key --name ${name} --access-policy-ids pol_caller`

function clientOf(wanted: string | undefined): McpClient {
  const names = mcpClients.map(({ name }) => name)
  if (wanted === undefined) throw new UsageError(`Choose a client: ${names.join(', ')}.`)
  const found = mcpClients.find(({ name }) => name === wanted)
  if (found) return found
  const hint = didYouMean(wanted, names, unquoted) || ` Clients: ${names.join(', ')}.`
  throw new UsageError(`Unknown client "${wanted}".${hint}`)
}

/** The slug of the named server, or of the only one. */
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
      ? 'There is no server yet. Create one with "quartermaster create-server --slug support".'
      : `Choose a server with --server: ${slugs.join(', ')}.`,
  )
}

/** Adds the settings to the file, keeps a backup, and shows the changes. */
async function write(file: string, settings: Record<string, unknown>, isSecret: boolean): Promise<void> {
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new UsageError(`Cannot read ${file} (${error.code}).`)
  })
  const after = addSettings(before ?? '', settings, file)
  if (before === after) {
    note(`${file} already has these settings.`)
    return
  }
  try {
    await mkdir(dirname(file), { recursive: true })
    if (before !== undefined) {
      const copy = `${file}.${new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)}.bak`
      await copyFile(file, copy)
      note(`Saved a backup as ${copy}.`)
    }
    await writeFile(file, after, isSecret ? { mode: 0o600 } : {})
  } catch (error) {
    throw new UsageError(`Cannot write ${file} (${(error as NodeJS.ErrnoException).code}).`)
  }
  say(difference(before ?? '', after).replaceAll(/sk_\w+/g, 'sk_…'))
  note(`Wrote ${file}.`)
  if (isSecret && ((await stat(file)).mode & 0o077) !== 0) {
    note(`Other users of this machine can read the file. To prevent that, run: chmod 600 ${file}`)
  }
}
