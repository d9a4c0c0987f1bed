import { Quartermaster } from '../../sdk/index.ts'
import { askSecret } from '../toolkit/ask.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { checkedKey, checkedUrl, defaultUrl, openSession, Refused, withHeaders } from '../toolkit/connection.ts'
import { isSet, readArguments, textOf } from '../toolkit/flags.ts'
import { print } from '../toolkit/print.ts'
import { configFile, type Profile, readProfiles, writeProfiles } from '../toolkit/profiles.ts'
import { isForPeople, note, paint, withProgress } from '../toolkit/terminal.ts'

const nameOf = (name: string): string => {
  if (/^[\w.-]{1,64}$/.test(name)) return name
  throw new UsageError('The name of a profile is 1 to 64 letters, digits, "_", "." or "-".')
}

export const login: Runner = async (args, { flags }) => {
  const read = readArguments(flags, args, 0)
  const name = nameOf(textOf(read, 'profile') ?? (process.env.QM_PROFILE || 'default'))
  const url = checkedUrl(textOf(read, 'url') ?? (process.env.QM_URL || defaultUrl))
  const key = await askSecret(`API key for ${new URL(url).origin}`)
  if (key === '') throw new UsageError('The key is missing: type it, or give it on standard input.')
  const profile: Profile = { url, key: checkedKey(key) }
  const seen = await lookAround(profile)
  const { current, profiles } = await readProfiles()
  const isFirst = current === undefined || !Object.hasOwn(profiles, current)
  await writeProfiles({ current: isFirst ? name : current, profiles: { ...profiles, [name]: profile } })
  note(`${paint('green', '✓', process.stderr)} ${seen}`)
  note(`Saved as "${name}" in ${configFile()}, for you alone to read.`)
  if (!isFirst && current !== name)
    note(`"${current}" is still what is used; "quartermaster profiles use ${name}" changes that.`)
  return exit.ok
}

/** Whoever has a key that is known may list projects, if only to see none. */
async function lookAround({ url, key }: Profile): Promise<string> {
  const connection = withHeaders({ baseUrl: url, token: key })
  const asked = new Quartermaster(connection).projects.listProjects({ query: { limit: 3 } })
  const { data, error } = await withProgress('Asking the platform …', asked)
  if (error) throw new Refused(error, url)
  const names = data.data.map((project) => project.name).join(', ')
  const more = data.total > data.data.length ? ` and ${data.total - data.data.length} more` : ''
  return `${new URL(url).origin} knows the key${names ? `; it sees the project${data.total > 1 ? 's' : ''} ${names}${more}` : ''}.`
}

export const logout: Runner = async (args, { flags }) => {
  const read = readArguments(flags, args, 0)
  const { current, profiles } = await readProfiles()
  const name = textOf(read, 'profile') ?? (process.env.QM_PROFILE || current)
  if (name === undefined) {
    note('No key is saved.')
    return exit.ok
  }
  if (!Object.hasOwn(profiles, name)) throw new UsageError(`There is no profile "${name}".`)
  const { [name]: _, ...rest } = profiles
  const [next] = Object.keys(rest)
  const left = current === name ? next : current
  await writeProfiles({ ...(left !== undefined && { current: left }), profiles: rest })
  note(`Forgot "${name}". The key itself still holds; "quartermaster delete-api-key" revokes one.`)
  return exit.ok
}

export const profiles: Runner = async (args, { flags }) => {
  const { words, given } = readArguments(flags, args, 2)
  const saved = await readProfiles()
  if (words[0] === 'use') return use(words[1], saved)
  if (words[0] !== undefined) throw new UsageError(`"${words[0]}" is nothing that profiles can do.`)
  const json = isSet(given, 'json')
  const listed = Object.entries(saved.profiles).map(([name, { url, key }]) => ({
    name,
    url,
    key: hint(key),
    current: name === saved.current,
  }))
  if (listed.length === 0 && isForPeople(json)) note('No key is saved. "quartermaster login" saves one.')
  else print({ data: listed, total: listed.length, limit: listed.length, offset: 0 }, { json, columns })
  return exit.ok
}

const columns = ['name', 'url', 'key', 'current']

async function use(name: string | undefined, saved: Awaited<ReturnType<typeof readProfiles>>): Promise<number> {
  if (name === undefined) throw new UsageError('The name of the profile is missing.')
  if (!Object.hasOwn(saved.profiles, name)) throw new UsageError(`There is no profile "${name}".`)
  await writeProfiles({ ...saved, current: name })
  note(`"${name}" is used from now on.`)
  return exit.ok
}

/** Enough to tell keys apart. */
const hint = (key: string): string => `${key.slice(0, key.length < 16 ? 3 : 6)}…`

export const whoami: Runner = async (args, { flags }) => {
  const { given } = readArguments(flags, args, 0)
  const { connection, qm } = await openSession(given)
  const asked = Promise.all([qm.apiKeys.getCurrentApiKey(), qm.projects.listProjects({ query: { limit: 100 } })])
  const [{ data: key, error }, projects] = await withProgress('Asking the platform …', asked)
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
