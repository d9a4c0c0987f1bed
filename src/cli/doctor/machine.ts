import { access, constants, readFile, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Config } from '../../config.ts'
import { Vault } from '../../credentials/vault.ts'
import { isRuntimeMissing, runtime } from '../../search/embedder.ts'
import { type Finding, fine, reasonOf, skipped, wrong } from './finding.ts'

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < 22 || (major === 22 && minor < 18)
  return isOld
    ? wrong('node', `Node ${version} is too old.`, 'Install Node 22.18 or later.')
    : fine('node', `Node ${version}`)
}

/** Whether the platform's port is free, used by a Quartermaster, or used by another program. */
export async function checkPort({ host, port }: Pick<Config, 'host' | 'port'>): Promise<Finding> {
  const where = `${host}:${port}`
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  if (!(await listens(reached, port))) return fine('port', `${where} is free. No platform is running there.`)
  if (await isQuartermaster(`http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`)) {
    return fine('port', `A Quartermaster is running at ${where}.`)
  }
  return wrong(
    'port',
    `${where} is used by another program.`,
    'Stop that program, or choose another port with --port or QM_PORT.',
  )
}

const listens = (host: string, port: number): Promise<boolean> =>
  new Promise((answer) => {
    const socket = connect({ host, port, timeout: 2000 })
    const end = (found: boolean) => {
      socket.destroy()
      answer(found)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
    socket.once('timeout', () => end(false))
  })

async function isQuartermaster(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(3000), redirect: 'manual' })
    const { status } = (await response.json()) as { status?: string }
    return response.ok && status === 'ok'
  } catch {
    return false
  }
}

export async function checkFolder(data: string, isRunning: boolean): Promise<Finding> {
  const folder = resolve(data)
  const found = await stat(folder).catch((error: NodeJS.ErrnoException) => error)
  if (found instanceof Error && found.code === 'ENOENT') return parentOf(folder)
  if (found instanceof Error || !found.isDirectory()) {
    const why = found instanceof Error ? reasonOf(found) : 'it is not a folder'
    return wrong('data folder', `${folder} cannot be used: ${why}.`, 'Choose another folder with --data or QM_DATA.')
  }
  try {
    await access(folder, constants.W_OK | constants.X_OK)
  } catch {
    return wrong(
      'data folder',
      `${folder} is not writable.`,
      'Change its owner with chown, or choose another folder with --data.',
    )
  }
  if (isLocked(folder) && !isRunning) {
    const pid = (await readFile(join(folder, 'pid'), 'utf8').catch(() => '')).trim()
    return wrong(
      'data folder',
      `${folder} is in use by another Quartermaster${pid ? ` (process ${pid})` : ''} on another port.`,
      'Stop it, set its port with --port, or choose another folder with --data.',
    )
  }
  return fine('data folder', folder)
}

async function parentOf(folder: string): Promise<Finding> {
  for (let above = dirname(folder); ; above = dirname(above)) {
    const found = await stat(above).catch(() => undefined)
    if (!found && above !== dirname(above)) continue
    const isUsable =
      found?.isDirectory() &&
      (await access(above, constants.W_OK).then(
        () => true,
        () => false,
      ))
    return isUsable
      ? fine('data folder', `${folder} does not exist yet. The first start creates it.`)
      : wrong(
          'data folder',
          `${folder} cannot be created in ${above}.`,
          'Choose another folder with --data or QM_DATA.',
        )
  }
}

function isLocked(folder: string): boolean {
  const lock = new DatabaseSync(join(folder, 'lock.db'), { open: false })
  try {
    lock.open()
    lock.exec('BEGIN EXCLUSIVE; ROLLBACK')
    return false
  } catch (error) {
    return (error as { errcode?: number }).errcode === 5
  } finally {
    if (lock.isOpen) lock.close()
  }
}

type FindSetting = (name: string) => Promise<string | undefined>

/** Checks the database read-only, and runs another check on its settings. */
export async function checkSqlite(data: string, check: (find: FindSetting) => Promise<Finding>): Promise<Finding[]> {
  const file = join(resolve(data), 'quartermaster.db')
  if (!(await stat(file).catch(() => undefined))) return [skipped('database', 'There is no database yet.')]
  const database = new DatabaseSync(file, { readOnly: true, open: false })
  try {
    database.open()
    const rows = database.prepare('PRAGMA quick_check(1)').all() as { quick_check?: string }[]
    const result = rows[0]?.quick_check ?? 'ok'
    if (result !== 'ok') throw new Error(result)
    const setting = database.prepare('select value from settings where name = ?')
    const find: FindSetting = async (name) => (setting.get(name) as { value: string } | undefined)?.value
    return [fine('database', `SQLite in ${file}`), await check(find)]
  } catch (error) {
    return [
      wrong(
        'database',
        `${file} cannot be read: ${reasonOf(error)}.`,
        'Restore a backup, or choose another folder with --data.',
      ),
    ]
  } finally {
    if (database.isOpen) database.close()
  }
}

export async function checkPostgres(url: string, check: (find: FindSetting) => Promise<Finding>): Promise<Finding[]> {
  const { default: pg } = await import('pg')
  const where = URL.parse(url)
  const name = where ? `${where.hostname}:${where.port || 5432}${where.pathname}` : 'the address in DATABASE_URL'
  let client: InstanceType<typeof pg.Client> | undefined
  try {
    client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000, query_timeout: 5000 })
    client.on('error', () => {})
    await client.connect()
    await client.query('select 1')
  } catch (error) {
    await client?.end().catch(() => {})
    return [
      wrong(
        'database',
        `PostgreSQL at ${name} cannot be used: ${reasonOf(error)}.`,
        'Start PostgreSQL, or correct DATABASE_URL: postgres://user:password@host:5432/database.',
      ),
    ]
  }
  const open = client
  try {
    const find: FindSetting = async (setting) => {
      const { rows } = await open.query('select value from settings where name = $1', [setting])
      return rows[0]?.value
    }
    return [fine('database', `PostgreSQL at ${name}`), await check(find)]
  } catch {
    return [fine('database', `PostgreSQL at ${name}. The first start creates the tables.`)]
  } finally {
    await open.end().catch(() => {})
  }
}

/** Whether the stored secrets can be decrypted with the current key. */
export const checkSecretKey =
  ({ secretKey, previousSecretKey, data }: Pick<Config, 'secretKey' | 'previousSecretKey' | 'data'>) =>
  async (find: FindSetting): Promise<Finding> => {
    const advice =
      'Set QM_SECRET_KEY to the key that the secrets were encrypted with, or restore secret.key in the data folder.'
    try {
      if ((await find('secret_check')) === undefined) return fine('secret key', 'No secrets are stored yet.')
      const settings = { find, establish: async (name: string) => (await find(name)) ?? '' }
      const fault = await (await Vault.open({ secretKey, previousSecretKey, data, settings })).findFault()
      return fault === undefined
        ? fine('secret key', 'It decrypts the stored secrets.')
        : wrong('secret key', fault, advice)
    } catch (error) {
      return wrong('secret key', `${reasonOf(error)}.`, advice)
    }
  }

export async function checkModel({
  embeddings,
  embeddingsUrl,
  embeddingsFolder,
}: Pick<Config, 'embeddings' | 'embeddingsUrl' | 'embeddingsFolder'>): Promise<Finding> {
  if (embeddingsUrl !== undefined) return fine('search', `Embeddings come from ${new URL(embeddingsUrl).host}.`)
  if (embeddings === 'off') return fine('search', 'Keyword search only, because QM_EMBEDDINGS is off.')
  try {
    const model = await import('../../search/model.ts')
    await model.checkModel(embeddingsFolder)
    return fine('search', 'The built-in model is available.')
  } catch (error) {
    if (isRuntimeMissing(error)) {
      return wrong(
        'search',
        'onnxruntime-node, which runs the built-in model, is not installed. Search uses keywords only.',
        `Run "npm install --ignore-scripts ${runtime}" where Quartermaster is installed (with -g if it is global), or reinstall Quartermaster with ONNXRUNTIME_NODE_INSTALL=skip in the environment: npm omits the package if its install script cannot reach api.nuget.org, although only GPUs need that download. To keep keyword search, set QM_EMBEDDINGS=off.`,
      )
    }
    return wrong(
      'search',
      `The built-in model cannot be used: ${reasonOf(error)}. Search uses keywords only.`,
      'Reinstall Quartermaster, or correct QM_EMBEDDINGS_FOLDER. To keep keyword search, set QM_EMBEDDINGS=off.',
    )
  }
}

/** A checkout contains the source of the dashboard, a package contains the build. */
export async function checkDashboard(root: string): Promise<Finding> {
  const isThere = (path: string) =>
    stat(join(root, path)).then(
      () => true,
      () => false,
    )
  if (await isThere('dashboard/dist/index.html')) return fine('dashboard', 'The dashboard is built.')
  if (!(await isThere('dashboard'))) return skipped('dashboard', 'This installation has no dashboard.')
  return wrong('dashboard', 'The dashboard is not built.', 'Run "npm run build" in the checkout.')
}
