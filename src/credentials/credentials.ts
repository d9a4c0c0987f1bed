import { PlatformError } from '../model/errors.ts'
import { sealedAt } from '../store/sealed.ts'
import type { NamedSecret, Secrets } from '../store/secrets.ts'
import type { StoredTool, ToolRecord } from '../store/tools.ts'
import type { ConnectedTool, ConnectionAccess } from './connections/access.ts'
import { type Authorization, ConnectionNeeded } from './connections/authorization.ts'
import type { LinkReader, RequiredLinks } from './connections/required-links.ts'
import { openParts } from './sealed-config.ts'
import { type SecretFiles, UnreadableFile } from './secret-files.ts'
import { referencedSecrets, withSecrets } from './secret-references.ts'
import type { Vault } from './vault.ts'

type Filling<Config> = { readonly project_id: string; readonly config: Config }

/** A tool's config with the values of its secrets. For sending only: it must not reach a record, a caller or a model. */
export interface FilledConfig<Config> {
  readonly config: Config
  /** The values that were filled in, to redact them in everything that comes back. */
  readonly secrets: readonly string[]
  /** Set if a value is missing or cannot be decrypted. The tool can then be listed, but not called. */
  readonly fault?: PlatformError
}

export interface CredentialsOptions {
  readonly secrets: Pick<Secrets, 'named'>
  readonly vault: Pick<Vault, 'open'> & Partial<Pick<Vault, 'seal'>>
  /** The environment variables that secrets can be read from, by name. */
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The files that secrets can be read from. By default, none. */
  readonly files?: Pick<SecretFiles, 'read'>
  /** Without it, tools use no connections. */
  readonly connections?: { readonly access: ConnectionAccess; readonly links: RequiredLinks }
}

/** The only place that reads the values of secrets, and decides which connection a request uses. */
export class Credentials {
  readonly #options: CredentialsOptions

  constructor(options: CredentialsOptions) {
    this.#options = options
  }

  /** Decrypts the secrets of a stored tool. If that fails, the secrets stay masked, and the tool cannot be called. */
  open({ secrets, ...tool }: StoredTool): { readonly tool: ToolRecord; readonly fault?: PlatformError } {
    try {
      return { tool: { ...tool, ...openParts({ ...tool, secrets }, tool.id, this.#options.vault) } }
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      return { tool, fault: error }
    }
  }

  /** Replaces each `${{ secrets.NAME }}` in the config of a tool by the value in the tool's project. */
  async fill<Config extends object>({ project_id, config }: Filling<Config>): Promise<FilledConfig<Config>> {
    const names = [...referencedSecrets(config)]
    if (names.length === 0) return { config, secrets: [] }
    const found = await this.#options.secrets.named(project_id, names)
    const values = new Map<string, string>()
    let fault: PlatformError | undefined
    for (const name of names) {
      try {
        values.set(name, this.#valueOf(name, found))
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        fault ??= error
      }
    }
    const secrets = [...values.values()]
    return { config: withSecrets(config, values), secrets, ...(fault && { fault }) }
  }

  /** The value of a secret of the project. Throws if it has none. */
  async valueOf(projectId: string, name: string): Promise<string> {
    const owner = { project_id: projectId, config: { value: `\${{ secrets.${name} }}` } }
    const { config, fault } = await this.fill(owner)
    if (fault) throw fault
    return config.value
  }

  /** The connection of a caller for a tool. Throws if the caller must connect first. */
  authorize(
    tool: ConnectedTool,
    endUserId: string | null,
  ): Authorization | undefined | Promise<Authorization | undefined> {
    return this.#options.connections?.access.authorize(tool, endUserId)
  }

  /** A connection for requests that no caller made. */
  async authorizeListing(tool: ConnectedTool): Promise<Authorization | undefined> {
    return this.#options.connections?.access.authorizeListing(tool)
  }

  /** If the error asks for a connection, adds a link for the caller. Any other error is returned as it is. */
  withLink(error: unknown, reader: LinkReader): unknown | Promise<unknown> {
    const needed = neededBy(error)
    return needed ? (this.#options.connections?.links.errorFor(needed, reader) ?? error) : error
  }

  /** Encrypts a link that is stored with the call that waits for it. */
  async sealLink(url: string, callId: string): Promise<string> {
    return (await this.#options.vault.seal?.(url, sealedAt.callLink(callId))) ?? ''
  }

  /** Null if it cannot be decrypted, for example after the key was changed: links last for minutes only. */
  openLink(sealed: string, callId: string): string | null {
    try {
      return this.#options.vault.open(sealed, sealedAt.callLink(callId))
    } catch {
      return null
    }
  }

  #valueOf(name: string, found: readonly NamedSecret[]): string {
    const row = found.find((one) => one.name === name)
    if (!row) throw new PlatformError('SECRET_NOT_FOUND', { secret: name })
    if (row.value !== null) return this.#options.vault.open(row.value, sealedAt.secret(row.id))
    if (row.file !== null) return this.#inFile(name, row.file)
    const variable = row.env ?? ''
    const value = this.#options.variables[variable]
    if (value === undefined || value === '')
      throw new PlatformError('SECRET_VARIABLE_NOT_SET', { secret: name, variable })
    return value
  }

  #inFile(secret: string, file: string): string {
    try {
      if (!this.#options.files) throw new UnreadableFile('cannot be used here')
      return this.#options.files.read(file)
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error
      throw new PlatformError('SECRET_FILE_UNREADABLE', { secret, file, reason: error.message }, { cause: error })
    }
  }
}

const neededBy = (error: unknown): ConnectionNeeded | undefined => {
  if (error instanceof ConnectionNeeded) return error
  return error instanceof PlatformError && error.cause instanceof ConnectionNeeded ? error.cause : undefined
}
