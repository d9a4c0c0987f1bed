import { Quartermaster } from '../../sdk/index.ts'
import { askSecret } from '../toolkit/ask.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { checkedKey, checkedUrl, defaultUrl, openSession, Refused, withHeaders } from '../toolkit/connection.ts'
import { io, note } from '../toolkit/io.ts'
import { isSet, readArguments, textOf } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { configFile, type Profile, readProfiles, writeProfiles } from '../toolkit/profiles.ts'
import { isForPeople, paint, withProgress } from '../toolkit/terminal.ts'

const nameOf = (name: string): string => {
  if (/^[\w.-]{1,64}$/.test(name)) return name
  throw new UsageError('A profile name has 1 to 64 letters, digits, "_", "." or "-".')
}

export const login: Runner = async (invocation) => {
  const read = readArguments(invocation, 0)
  const { env, stderr } = io()
  const name = nameOf(textOf(read, 'profile') ?? (env.QM_PROFILE || 'default'))
  const url = checkedUrl(textOf(read, 'url') ?? (env.QM_URL || defaultUrl))
  const key = textOf(read, 'key')?.trim() ?? (await askSecret(`API key for ${new URL(url).origin}`))
  if (key === '') throw new UsageError('The API key is missing: type it, or pass it on standard input.')
  const profile: Profile = { url, key: checkedKey(key, 'The key') }
  const accepted = await tryKey(profile)
  const { current, profiles } = await readProfiles()
  const isFirst = current === undefined || !Object.hasOwn(profiles, current)
  await writeProfiles({ current: isFirst ? name : current, profiles: { ...profiles, [name]: profile } })
  note(`${paint('green', '✓', stderr)} ${accepted}`)
  note(`Saved as profile "${name}" in ${configFile()}, readable only by you.`)
  if (!isFirst && current !== name) {
    note(`The current profile is still "${current}". To change it, run "quartermaster profiles use ${name}".`)
  }
  return exit.ok
}

/** Lists projects, which every valid key may do, although the list may be empty. */
async function tryKey({ url, key }: Profile): Promise<string> {
  const connection = withHeaders({ baseUrl: url, token: key })
  const listed = new Quartermaster(connection).projects.listProjects({ query: { limit: 3 } })
  const { data, error } = await withProgress('Connecting …', listed)
  if (error) throw new Refused(error, url)
  const names = data.data.map((project) => project.name).join(', ')
  const more = data.total > data.data.length ? ` and ${data.total - data.data.length} more` : ''
  const projects = names ? ` Project${data.total > 1 ? 's' : ''}: ${names}${more}.` : ''
  return `${new URL(url).origin} accepted the API key.${projects}`
}

export const logout: Runner = async (invocation) => {
  const read = readArguments(invocation, 0)
  const { current, profiles } = await readProfiles()
  const name = textOf(read, 'profile') ?? (io().env.QM_PROFILE || current)
  if (name === undefined) {
    note('No API key is saved.')
    return exit.ok
  }
  if (!Object.hasOwn(profiles, name)) throw new UsageError(`There is no profile "${name}".`)
  const { [name]: _, ...rest } = profiles
  const [next] = Object.keys(rest)
  const left = current === name ? next : current
  await writeProfiles({ ...(left !== undefined && { current: left }), profiles: rest })
  note(`Deleted profile "${name}". The API key is still valid: revoke it with "quartermaster delete-api-key".`)
  return exit.ok
}

export const profiles: Runner = async (invocation) => {
  const { words, given } = readArguments(invocation, 2)
  const saved = await readProfiles()
  if (words[0] === 'use') return use(words[1], saved)
  if (words[0] !== undefined) throw new UsageError(`Unknown subcommand "${words[0]}". Use "profiles use <name>".`)
  const json = isSet(given, 'json')
  const listed = Object.entries(saved.profiles).map(([name, { url, key }]) => ({
    name,
    url,
    key: hint(key),
    current: name === saved.current,
  }))
  if (listed.length === 0 && isForPeople(json)) note('No API key is saved. Save one with "quartermaster login".')
  else print({ data: listed, total: listed.length, limit: listed.length, offset: 0 }, { json, columns })
  return exit.ok
}

const columns = ['name', 'url', 'key', 'current']

async function use(name: string | undefined, saved: Awaited<ReturnType<typeof readProfiles>>): Promise<number> {
  if (name === undefined) throw new UsageError('The profile name is missing.')
  if (!Object.hasOwn(saved.profiles, name)) throw new UsageError(`There is no profile "${name}".`)
  await writeProfiles({ ...saved, current: name })
  note(`The current profile is now "${name}".`)
  return exit.ok
}

/** The first characters, to distinguish keys. */
const hint = (key: string): string => `${key.slice(0, key.length < 16 ? 3 : 6)}…`

export const whoami: Runner = async (invocation) => {
  const { given } = readArguments(invocation, 0)
  const { connection, qm } = await openSession(given)
  const loaded = Promise.all([qm.apiKeys.getCurrentApiKey(), qm.projects.listProjects({ query: { limit: 100 } })])
  const [{ data: key, error }, projects] = await withProgress('Connecting …', loaded)
  if (error) throw new Refused(error, connection.baseUrl)
  const { id, name, project, access_policies, rate_limit, expires_at, created_by, platform_version } = key
  print(
    {
      url: new URL(connection.baseUrl).origin,
      key: hint(connection.token),
      name,
      id,
      project: project?.name ?? 'all projects',
      projects: projects.data?.data.map((one) => one.name) ?? [],
      access_policies: access_policies.map((policy) => policy.name),
      ...(rate_limit !== null && { rate_limit }),
      ...(expires_at !== null && { expires_at }),
      created_by,
      platform_version,
    },
    { json: isSet(given, 'json') },
  )
  return exit.ok
}
