import { readFileSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'

/** How often files are checked for changes. Polled, because mounted secrets change by swapping a symbolic link. */
const intervalMs = 2000
const maxBytes = 65_536

export interface SecretFilesOptions {
  /** QM_SECRET_FILES. Without it, no file can be read. */
  readonly folder: string | undefined
  /** Called when a file that was read has changed. */
  onChange(): void
}

/** The message says why a file cannot be used: "is missing". */
export class UnreadableFile extends Error {}

/** Secrets in files, as Docker and Kubernetes mount them: one folder, one value per file. */
export class SecretFiles {
  readonly #options: SecretFilesOptions
  /** The version of each file that was last read, or that was last found to differ. */
  readonly #versions = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: SecretFilesOptions) {
    this.#options = options
  }

  /** The content of a file without the line break at its end. */
  read(name: string): string {
    const { folder } = this.#options
    if (folder === undefined) throw new UnreadableFile('cannot be used, because QM_SECRET_FILES is not set')
    const path = join(folder, name)
    this.#watch(path)
    const real = realPath(path)
    // A link must not lead to other files of this machine.
    if (!real?.startsWith(`${realPath(folder)}${sep}`)) throw new UnreadableFile('is missing')
    const value = textOf(real).replace(/\r?\n$/, '')
    if (value === '') throw new UnreadableFile('is empty')
    return value
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #watch(path: string): void {
    this.#versions.set(path, versionOf(path))
    this.#timer ??= setInterval(() => this.#check(), intervalMs).unref()
  }

  #check(): void {
    const changed = [...this.#versions].filter(([path, version]) => versionOf(path) !== version)
    for (const [path] of changed) this.#versions.set(path, versionOf(path))
    if (changed.length > 0) this.#options.onChange()
  }
}

/** Differs after each change of the file, also if a link on the way to it was replaced. */
function versionOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : ''
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function textOf(path: string): string {
  try {
    if (statSync(path).size <= maxBytes) return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new UnreadableFile('cannot be read by the platform', { cause })
  }
  throw new UnreadableFile(`is larger than ${maxBytes} bytes`)
}
