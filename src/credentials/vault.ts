import { createCipheriv, createDecipheriv, createHmac, randomBytes, scrypt } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { link, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PlatformError } from '../model/errors.ts'
import { StartError } from '../model/start-error.ts'
import type { Sealed } from '../store/sealed.ts'
import type { Settings } from '../store/settings.ts'

export interface VaultOptions {
  /** QM_SECRET_KEY: 32 bytes in base64 or hex, or a passphrase. */
  readonly secretKey: string | undefined
  /** QM_SECRET_KEY_PREVIOUS: the previous key, to decrypt values that are not re-encrypted yet. */
  readonly previousSecretKey?: string | undefined
  /** The folder of the key file, which is used if QM_SECRET_KEY is not set. */
  readonly data: string
  readonly settings: Pick<Settings, 'find' | 'establish'>
}

const keyFile = 'secret.key'
/** An encrypted value that only the right key decrypts. Ensures that a database never uses two keys. */
const check = 'secret_check'
const checkPlace = 'settings/secret_check'
const checkText = 'quartermaster'

export interface Renewal {
  readonly renewed: number
  /** Places of values that the previous key should decrypt but cannot. */
  readonly unreadable: readonly string[]
  /** Ids of unavailable keys that stored values are encrypted with. */
  readonly missing: readonly string[]
}

/**
 * Encrypts secrets with AES-256-GCM. A sealed value is `v1.<key id>.<nonce, ciphertext and tag>`, bound to the place where
 * it is stored: it cannot be decrypted after being moved to another row.
 *
 * The key is QM_SECRET_KEY, or a file in the data folder that is created with the first secret. The key that encrypts the
 * first secret becomes the key of the database. With another key, encryption and decryption fail with an error that names
 * the missing key.
 *
 * To rotate the key, start with the previous key set as well. The start re-encrypts the check value and everything
 * encrypted with the previous key, in one transaction, so an interrupted start changes nothing. The check value comes first
 * and acts as a lock: of several processes with different new keys, one changes it, and the others wait and then find that
 * their key does not match.
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

  get source(): 'QM_SECRET_KEY' | typeof keyFile {
    return this.#options.secretKey === undefined ? keyFile : 'QM_SECRET_KEY'
  }

  /** Describes what is wrong with the key; undefined if it matches or if there are no secrets yet. */
  async findFault(): Promise<string | undefined> {
    const stored = await this.#options.settings.find(check)
    if (stored === undefined || opens(this.#previous, stored)) return undefined
    try {
      await this.#checked()
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  /** `place` is where the value is stored: `ai_providers/aip_…/api_key`. */
  async seal(text: string, place: string): Promise<string> {
    await this.#checked()
    return sealWith(this.#key as Buffer, text, place)
  }

  open(sealed: string, place: string): string {
    const [version, keyId] = sealed.split('.')
    if (version !== 'v1' || keyId === undefined) throw new PlatformError('SECRET_UNREADABLE', { place })
    this.#findKeyFile()
    const key = [this.#key, this.#previous].find((one) => one && idOf(one) === keyId)
    if (key === undefined) throw this.#mismatch(keyId)
    const text = openWith(key, sealed, place)
    if (text === undefined) throw new PlatformError('SECRET_UNREADABLE', { place })
    return text
  }

  /** Re-encrypts values of the previous key with the current one, and reports values that neither key can decrypt. */
  async renew(store: { readonly sealed: Sealed }): Promise<Renewal> {
    return store.sealed.together(async (sealed, settings) => {
      const before = this.#previous
      const stored = await settings.find(check)
      if (stored !== undefined && opens(before, stored)) {
        // The previous key matches, so a new key file does not hide a missing key.
        this.#key ??= await makeKeyFile(this.#options.data)
        await settings.replace(check, stored, sealWith(this.#key, checkText, checkPlace))
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

  /** Ensures that there is a key, and that it is the key of this database. */
  #checked(): Promise<void> {
    this.#fits ??= this.#check().catch((error: unknown) => {
      this.#fits = undefined
      throw error
    })
    return this.#fits
  }

  async #check(): Promise<void> {
    const { settings, data } = this.#options
    const stored = await settings.find(check)
    this.#findKeyFile()
    // Creating a key here would hide that the right one is missing.
    if (this.#key === undefined && stored !== undefined) throw this.#mismatch(idIn(stored))
    const key = this.#key ?? (await makeKeyFile(data))
    this.#key = key
    const sealed = stored ?? (await settings.establish(check, () => sealWith(key, checkText, checkPlace)))
    if (!opens(key, sealed)) throw this.#mismatch(idIn(sealed))
  }

  /** Another process with the same data folder may have created the key file since this one started. */
  #findKeyFile(): void {
    const { secretKey, data } = this.#options
    if (secretKey === undefined) this.#key ??= readKeyFile(data)
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

/** Identifies a key without revealing anything about it. */
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
  // The salt is in the database, because all processes must derive the same key.
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

/** Decodes 32 bytes in hex or base64. Anything else is a passphrase. */
function asBytes(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  return undefined
}

function readKeyFile(data: string): Buffer | undefined {
  const path = join(data, keyFile)
  const text = readText(path)
  if (text === undefined) return undefined
  const key = asBytes(text.trim())
  if (!key)
    throw new StartError(`${path} is not a key: it must contain 32 bytes in hex or base64. Restore it from a backup.`)
  if (process.platform !== 'win32' && (statSync(path).mode & 0o007) !== 0) {
    throw new StartError(`${path} is readable by other users on this machine. Run chmod 600 on it.`)
  }
  return key
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new StartError(`Cannot read ${path}: ${(error as Error).message}.`, { cause: error })
  }
}

/** Creates the key file atomically and never replaces an existing one, because another process may create it too. */
async function makeKeyFile(data: string): Promise<Buffer> {
  const draft = join(data, `${keyFile}.${randomBytes(6).toString('hex')}`)
  try {
    await mkdir(data, { recursive: true, mode: 0o700 })
    await writeFile(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  } catch (cause) {
    throw new StartError(
      `The key file ${join(data, keyFile)} cannot be written: ${(cause as Error).message}. Give the user who runs the platform write access to the folder, or set QM_SECRET_KEY.`,
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
  return readKeyFile(data) as Buffer
}

/**
 * Syncs the folder, so that the key file survives a power failure. Otherwise a database on another machine could store
 * secrets that are encrypted with a lost key.
 */
async function settleFolder(folder: string): Promise<void> {
  // Windows cannot open folders, and persists directory entries itself.
  if (process.platform === 'win32') return
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
