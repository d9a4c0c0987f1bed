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

/** Who has the port that the platform would take: nobody, a Quartermaster, or something else. */
export async function checkPort({ host, port }: Pick<Config, 'host' | 'port'>): Promise<Finding> {
  const where = `${host}:${port}`
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  if (!(await listens(reached, port))) return fine('port', `${where} is free; no platform runs there.`)
  if (await isQuartermaster(`http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`)) {
    return fine('port', `A Quartermaster runs at ${where}.`)
  }
  return wrong(
    'port',
    `${where} is used by something else.`,
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
      `${folder} cannot be written to.`,
      `Make it yours with chown, or choose another with --data.`,
    )
  }
  if (isLocked(folder) && !isRunning) {
    const pid = (await readFile(join(folder, 'pid'), 'utf8').catch(() => '')).trim()
    return wrong(
      'data folder',
      `${folder} is in use by another Quartermaster${pid ? ` (process ${pid})` : ''} that is not at this port.`,
      'Stop that one, say where it is with --port, or choose another folder with --data.',
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
      ? fine('data folder', `${folder} is not there yet; the first start makes it.`)
      : wrong('data folder', `${folder} cannot be made in ${above}.`, 'Choose another folder with --data or QM_DATA.')
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

/** Reads the database without changing it; what else wants to look into it is handed the settings. */
export async function checkSqlite(data: string, look: (find: FindSetting) => Promise<Finding>): Promise<Finding[]> {
  const file = join(resolve(data), 'quartermaster.db')
  if (!(await stat(file).catch(() => undefined))) return [skipped('database', 'There is no database yet.')]
  const database = new DatabaseSync(file, { readOnly: true, open: false })
  try {
    database.open()
    const rows = database.prepare('PRAGMA quick_check(1)').all() as { quick_check?: string }[]
    const said = rows[0]?.quick_check ?? 'ok'
    if (said !== 'ok') throw new Error(said)
    const setting = database.prepare('select value from settings where name = ?')
    const find: FindSetting = async (name) => (setting.get(name) as { value: string } | undefined)?.value
    return [fine('database', `SQLite in ${file}`), await look(find)]
  } catch (error) {
    return [
      wrong(
        'database',
        `${file} cannot be read: ${reasonOf(error)}.`,
        'Put a backup in its place, or choose another folder with --data.',
      ),
    ]
  } finally {
    if (database.isOpen) database.close()
  }
}

export async function checkPostgres(url: string, look: (find: FindSetting) => Promise<Finding>): Promise<Finding[]> {
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
        'Start it, or mend DATABASE_URL: postgres://user:password@host:5432/database.',
      ),
    ]
  }
  const open = client
  try {
    const find: FindSetting = async (setting) => {
      const { rows } = await open.query('select value from settings where name = $1', [setting])
      return rows[0]?.value
    }
    return [fine('database', `PostgreSQL at ${name}`), await look(find)]
  } catch {
    return [fine('database', `PostgreSQL at ${name}; the first start makes its tables.`)]
  } finally {
    await open.end().catch(() => {})
  }
}

/** Whether secrets that were sealed can be opened here. */
export const checkSecretKey =
  ({ secretKey, previousSecretKey, data }: Pick<Config, 'secretKey' | 'previousSecretKey' | 'data'>) =>
  async (find: FindSetting): Promise<Finding> => {
    const advice =
      'Set QM_SECRET_KEY to the key that they were sealed with, or put its secret.key back into the data folder.'
    try {
      if ((await find('secret_check')) === undefined) return fine('secret key', 'No secret is sealed yet.')
      const settings = { find, establish: async (name: string) => (await find(name)) ?? '' }
      const fault = await (await Vault.open({ secretKey, previousSecretKey, data, settings })).findFault()
      return fault === undefined ? fine('secret key', 'It opens what was sealed.') : wrong('secret key', fault, advice)
    } catch (error) {
      return wrong('secret key', `${reasonOf(error)}.`, advice)
    }
  }

export async function checkModel({
  embeddings,
  embeddingsUrl,
  embeddingsFolder,
}: Pick<Config, 'embeddings' | 'embeddingsUrl' | 'embeddingsFolder'>): Promise<Finding> {
  if (embeddingsUrl !== undefined) return fine('search', `Meanings come from ${new URL(embeddingsUrl).host}.`)
  if (embeddings === 'off') return fine('search', 'By words alone, as QM_EMBEDDINGS says.')
  try {
    const model = await import('../../search/model.ts')
    await model.checkModel(embeddingsFolder)
    return fine('search', 'The built-in model is there.')
  } catch (error) {
    if (isRuntimeMissing(error)) {
      return wrong(
        'search',
        'onnxruntime-node, which runs the built-in model, is not installed. Actions are found by words alone.',
        `Run "npm install --ignore-scripts ${runtime}" where Quartermaster is installed (with -g if it is global), or install Quartermaster again with ONNXRUNTIME_NODE_INSTALL=skip in the environment: npm leaves the package out where its install script cannot reach api.nuget.org, though only graphics cards need what that fetches. Or set QM_EMBEDDINGS=off to leave it so.`,
      )
    }
    return wrong(
      'search',
      `The built-in model cannot be used: ${reasonOf(error)}. Actions are found by words alone.`,
      'Install Quartermaster again, mend QM_EMBEDDINGS_FOLDER, or set QM_EMBEDDINGS=off to leave it so.',
    )
  }
}

/** A checkout has the dashboard's source, a package what was built of it. */
export async function checkDashboard(root: string): Promise<Finding> {
  const isThere = (path: string) =>
    stat(join(root, path)).then(
      () => true,
      () => false,
    )
  if (await isThere('dashboard/dist/index.html')) return fine('dashboard', 'It is built.')
  if (!(await isThere('dashboard'))) return skipped('dashboard', 'This installation has none.')
  return wrong('dashboard', 'The dashboard is not built.', 'Run "npm run build" in the checkout.')
}
