import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { UsageError } from './command.ts'
import { io } from './io.ts'

/** An address and a key, saved under a name. */
export interface Profile {
  readonly url: string
  readonly key: string
}

export interface Profiles {
  /** The profile that is used by default. */
  readonly current?: string
  readonly profiles: Readonly<Record<string, Profile>>
}

export const configFile = (): string =>
  join(io().env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'quartermaster', 'config.json')

export async function readProfiles(): Promise<Profiles> {
  const file = configFile()
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new UsageError(`Cannot read ${file} (${error.code}).`)
  })
  if (text === undefined) return { profiles: {} }
  try {
    return checked(JSON.parse(text))
  } catch {
    throw new UsageError(
      `${file} is not a valid configuration file. Fix it, or delete it and run "quartermaster login" again.`,
    )
  }
}

function checked(value: unknown): Profiles {
  const { current, profiles } = value as Profiles
  const isProfile = (one: Profile) => typeof one.url === 'string' && typeof one.key === 'string'
  if (!Object.values(profiles).every(isProfile)) throw new TypeError('not profiles')
  return { profiles, ...(typeof current === 'string' && { current }) }
}

/** Writes the file atomically, readable by its owner only: it contains keys. */
export async function writeProfiles(profiles: Profiles): Promise<void> {
  const file = configFile()
  const draft = `${file}.${process.pid}`
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {})
    throw new UsageError(`Cannot write ${file} (${(error as NodeJS.ErrnoException).code}).`)
  }
}

/** The named profile, or else the current one. */
export async function findProfile(name: string | undefined): Promise<Profile | undefined> {
  const { current, profiles } = await readProfiles()
  const wanted = name ?? current
  if (wanted === undefined) return undefined
  const found = Object.hasOwn(profiles, wanted) ? profiles[wanted] : undefined
  if (!found && name !== undefined) {
    const known = Object.keys(profiles)
    const hint = known.length > 0 ? ` Existing profiles: ${known.join(', ')}.` : ''
    throw new UsageError(
      `There is no profile "${name}".${hint} Create it with "quartermaster login --profile ${name}".`,
    )
  }
  return found
}
