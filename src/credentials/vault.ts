import { createCipheriv, createDecipheriv, createHmac, randomBytes, scrypt } from 'node:crypto'
import { link, mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PlatformError } from '../model/errors.ts'
import { StartError } from '../model/start-error.ts'
import type { Sealed } from '../store/sealed.ts'
import type { Settings } from '../store/settings.ts'

export interface VaultOptions {
  /** QM_SECRET_KEY: 32 bytes in base64 or hex, or a passphrase. */
  readonly secretKey: string | undefined
  /** QM_SECRET_KEY_PREVIOUS: the key before, which opens what is not yet sealed anew. */
  readonly previousSecretKey?: string | undefined
  /** Where the key file is, when there is no QM_SECRET_KEY. */
  readonly data: string
  readonly settings: Pick<Settings, 'find' | 'establish'>
}

const keyFile = 'secret.key'
/** A sealed value that only the right key opens, so that no two keys are ever used on one database. */
const check = 'secret_check'
const checkPlace = 'settings/secret_check'
const checkText = 'quartermaster'

export interface Renewal {
  readonly renewed: number
  /** Places of values that the key before should open, and does not. */
  readonly unreadable: readonly string[]
  /** The ids of other keys that something is sealed with. */
  readonly missing: readonly string[]
}

/**
 * Seals secrets with AES-256-GCM. A sealed value is `v1.<key id>.<nonce, text and tag>`, bound to the place it is kept
 * at: moved to another row, it does not open.
 *
 * The key is QM_SECRET_KEY, or a file in the data folder that the first secret makes. Whatever key seals the first secret
 * of a database is the one: with another, nothing is sealed, and what is there is not opened but said to need its key.
 *
 * To change it, a start is given the key before as well. It seals anew the check and all that the key before has sealed, in one
 * transaction: cut off anywhere, nothing has changed. The check comes first. Of several processes, each with a new key of its
 * own, one gets to change it; the others wait, and then find that theirs does not fit.
 */
export class Vault {
  readonly #options: VaultOptions
  #key: Buffer | undefined
  readonly #previous: Buffer | undefined
  #fits: Promise<void> | undefined

  private constructor(options: VaultOptions, key: Buffer | undefined, previous: Buffer | undefined) {
    this.#options = options
    this.#key = key
    this.#previous = previous
  }

  static async open(options: VaultOptions): Promise<Vault> {
    const { previousSecretKey, settings } = options
    const previous = previousSecretKey === undefined ? undefined : await readKey(previousSecretKey, settings)
    return new Vault(options, await findKey(options), previous)
  }

  /** Where the key is from. */
  get source(): 'QM_SECRET_KEY' | typeof keyFile {
    return this.#options.secretKey === undefined ? keyFile : 'QM_SECRET_KEY'
  }

  /** What is wrong with the key, in words; nothing while it fits, or while there are no secrets. */
  async findFault(): Promise<string | undefined> {
    const known = await this.#options.settings.find(check)
    if (known === undefined || opens(this.#previous, known)) return undefined
    try {
      await this.#checked()
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  /** `place` names where the value is kept: `ai_providers/aip_…/api_key`. */
  async seal(text: string, place: string): Promise<string> {
    await this.#checked()
    return sealWith(this.#key as Buffer, text, place)
  }

  open(sealed: string, place: string): string {
    const [version, keyId] = sealed.split('.')
    if (version !== 'v1' || keyId === undefined) throw new PlatformError('SECRET_UNREADABLE', { place })
    const key = [this.#key, this.#previous].find((one) => one && idOf(one) === keyId)
    if (key === undefined) throw this.#mismatch(keyId)
    const text = openWith(key, sealed, place)
    if (text === undefined) throw new PlatformError('SECRET_UNREADABLE', { place })
    return text
  }

  /** Seals with the key what the one before has sealed, and tells of what neither of them opens. */
  async renew(store: { readonly sealed: Sealed }): Promise<Renewal> {
    return store.sealed.together(async (sealed, settings) => {
      const before = this.#previous
      const known = await settings.find(check)
      if (known !== undefined && opens(before, known)) {
        // The key before fits, so to make one hides nothing.
        this.#key ??= await makeKeyFile(this.#options.data)
        await settings.replace(check, known, sealWith(this.#key, checkText, checkPlace))
      }
      const key = this.#key
      const here = [key, before].flatMap((one) => (one ? idOf(one) : []))
      const missing = [...(await sealed.keyIds())].filter((id) => !here.includes(id))
      const fits = opens(key, await settings.find(check))
      if (!key || !before || !fits || key.equals(before)) return { renewed: 0, unreadable: [], missing }
      let renewed = 0
      const unreadable: string[] = []
      for await (const value of sealed.by(idOf(before))) {
        const text = openWith(before, value.sealed, value.place)
        if (text === undefined) unreadable.push(value.place)
        else if (await sealed.replace(value, sealWith(key, text, value.place))) renewed++
      }
      return { renewed, unreadable, missing }
    })
  }

  /** Makes sure that there is a key, and that it is the one that this database's secrets are sealed with. */
  #checked(): Promise<void> {
    this.#fits ??= this.#check().catch((error: unknown) => {
      this.#fits = undefined
      throw error
    })
    return this.#fits
  }

  async #check(): Promise<void> {
    const { settings, data } = this.#options
    const known = await settings.find(check)
    // To make a key where another one is missing would only hide that.
    if (this.#key === undefined && known !== undefined) throw this.#mismatch(idIn(known))
    const key = this.#key ?? (await makeKeyFile(data))
    this.#key = key
    const sealed = known ?? (await settings.establish(check, () => sealWith(key, checkText, checkPlace)))
    if (!opens(key, sealed)) throw this.#mismatch(idIn(sealed))
  }

  #mismatch(wanted: string): PlatformError<'SECRET_KEY_WRONG'> {
    const found = this.#key && idOf(this.#key)
    const previous = this.#previous && idOf(this.#previous)
    return new PlatformError('SECRET_KEY_WRONG', {
      wanted,
      found: found ?? null,
      source: this.source,
      ...(previous && { previous }),
    })
  }
}

const opens = (key: Buffer | undefined, sealedCheck: string | undefined): boolean =>
  key !== undefined && sealedCheck !== undefined && openWith(key, sealedCheck, checkPlace) !== undefined

const idIn = (sealed: string): string => sealed.split('.')[1] ?? ''

/** Tells keys apart, and tells nothing of the key. */
const idOf = (key: Buffer): string => createHmac('sha256', key).update('key id').digest('hex').slice(0, 8)

function sealWith(key: Buffer, text: string, place: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place))
  const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return `v1.${idOf(key)}.${bytes.toString('base64url')}`
}

function openWith(key: Buffer, sealed: string, place: string): string | undefined {
  const bytes = Buffer.from(sealed.split('.')[2] ?? '', 'base64url')
  if (bytes.length < 28) return undefined
  const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
  cipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-16))
  try {
    return Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

async function findKey({ secretKey, data, settings }: VaultOptions): Promise<Buffer | undefined> {
  return secretKey === undefined ? readKeyFile(data) : readKey(secretKey, settings)
}

async function readKey(text: string, settings: VaultOptions['settings']): Promise<Buffer> {
  const bytes = asBytes(text)
  if (bytes) return bytes
  // In the database, because all processes on it must come to the same key.
  const salt = await settings.establish('secret_salt', () => randomBytes(16).toString('base64url'))
  return stretch(text.normalize('NFC'), Buffer.from(salt, 'base64url'))
}

const stretch = (passphrase: string, salt: Buffer): Promise<Buffer> =>
  (promisify(scrypt) as (text: string, salt: Buffer, length: number, options: object) => Promise<Buffer>)(
    passphrase,
    salt,
    32,
    { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 },
  )

/** 32 bytes written in hex or base64; anything else is a passphrase. */
function asBytes(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  return undefined
}

async function readKeyFile(data: string): Promise<Buffer | undefined> {
  const path = join(data, keyFile)
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new StartError(`Cannot read ${path}: ${error.message}.`, { cause: error })
  })
  if (text === undefined) return undefined
  const key = asBytes(text.trim())
  if (!key) throw new StartError(`${path} is not a key: it must hold 32 bytes in hex or base64. Restore it.`)
  const { mode } = await stat(path)
  if (process.platform !== 'win32' && (mode & 0o007) !== 0) {
    throw new StartError(`${path} can be read by everyone on this machine: run chmod 600 on it.`)
  }
  return key
}

/** Whole or not at all, and never in place of another: a process beside this one may be making it too. */
async function makeKeyFile(data: string): Promise<Buffer> {
  const draft = join(data, `${keyFile}.${randomBytes(6).toString('hex')}`)
  try {
    await mkdir(data, { recursive: true, mode: 0o700 })
    await writeFile(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  } catch (cause) {
    throw new StartError(
      `The key file ${join(data, keyFile)} cannot be written: ${(cause as Error).message}. Give the user that the platform runs as write access to the folder, or set QM_SECRET_KEY.`,
      { cause },
    )
  }
  try {
    await link(draft, join(data, keyFile))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  await settleFolder(data)
  return (await readKeyFile(data)) as Buffer
}

/** A database elsewhere may keep what the key seals at once, and must not outlive its name in the folder in a power cut. */
async function settleFolder(folder: string): Promise<void> {
  // Windows opens no folders, and writes names down by itself.
  if (process.platform === 'win32') return
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
