import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { UsageError } from './command.ts'

/** An address and a key, saved under a name. */
export interface Profile {
  readonly url: string
  readonly key: string
}

export interface Profiles {
  /** The one that is used where none is named. */
  readonly current?: string
  readonly profiles: Readonly<Record<string, Profile>>
}

export const configFile = (): string =>
  join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'quartermaster', 'config.json')

export async function readProfiles(): Promise<Profiles> {
  const file = configFile()
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new UsageError(`cannot read ${file} (${error.code}).`)
  })
  if (text === undefined) return { profiles: {} }
  try {
    return checked(JSON.parse(text))
  } catch {
    throw new UsageError(`${file} is not as "quartermaster login" writes it. Mend or delete it.`)
  }
}

function checked(value: unknown): Profiles {
  const { current, profiles } = value as Profiles
  const isProfile = (one: Profile) => typeof one.url === 'string' && typeof one.key === 'string'
  if (!Object.values(profiles).every(isProfile)) throw new TypeError('not profiles')
  return { profiles, ...(typeof current === 'string' && { current }) }
}

/** Whole or not at all, and for nobody but its owner: it holds keys. */
export async function writeProfiles(profiles: Profiles): Promise<void> {
  const file = configFile()
  const draft = `${file}.${process.pid}`
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {})
    throw new UsageError(`cannot write ${file} (${(error as NodeJS.ErrnoException).code}).`)
  }
}

/** The one that is named, else the current one. */
export async function findProfile(name: string | undefined): Promise<Profile | undefined> {
  const { current, profiles } = await readProfiles()
  const wanted = name ?? current
  if (wanted === undefined) return undefined
  const found = Object.hasOwn(profiles, wanted) ? profiles[wanted] : undefined
  if (!found && name !== undefined) {
    const known = Object.keys(profiles)
    const hint = known.length > 0 ? ` There ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}.` : ''
    throw new UsageError(`There is no profile "${name}".${hint} "quartermaster login --profile ${name}" makes one.`)
  }
  return found
}
