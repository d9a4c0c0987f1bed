import {
  chmodSync,
  closeSync,
  existsSync,
  fdatasync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { Kysely, type SqliteDatabase, sql } from 'kysely'
import { DatabaseUnavailable } from '../model/database-unavailable.ts'
import { StartError } from '../model/start-error.ts'
import { Checkpoints } from './checkpoint.ts'
import type { Engine } from './engine.ts'
import { longestBeginning, snippetOf } from './snippet.ts'
import { FairSqliteDialect } from './sqlite-dialect.ts'
import type { CallEnd, CallRow, Tables } from './tables.ts'

const syncData = promisify(fdatasync)

/** SQLITE_BUSY: another connection holds the lock. */
const busy = 5

/** Another process uses the data folder. */
export class FolderInUse extends StartError {}

/**
 * Ensures that only one process uses a data folder, with an exclusive SQLite lock on a separate file. The operating system
 * releases the lock whenever the process ends. The database itself stays readable for backup tools.
 */
function lockFolder(folder: string): DatabaseSync {
  const lock = new DatabaseSync(makePrivate(folder, 'lock.db'), { open: false })
  try {
    lock.open()
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (cause) {
    if (lock.isOpen) lock.close()
    if ((cause as { errcode?: number }).errcode !== busy) throw explained(cause, join(folder, 'lock.db'))
    throw new FolderInUse(
      `The data folder ${folder} is in use by another Quartermaster${owner(folder)}. Stop that one, or choose another folder with --data.`,
      { cause },
    )
  }
  try {
    writeFileSync(join(folder, 'pid'), `${process.pid}\n`, { mode: 0o600 })
  } catch (cause) {
    lock.close()
    throw notWritable(folder, cause)
  }
  return lock
}

const notWritable = (folder: string, cause: unknown) =>
  new StartError(
    `The data folder ${folder} cannot be written to: ${(cause as Error).message}. Give the user who runs the platform write access to it, or choose another folder with --data.`,
    { cause },
  )

/**
 * Creates a file that other users cannot access, whatever the mode of the folder: it contains key hashes, requests and
 * responses. SQLite gives its -wal and -shm files the same mode. Removes access for other users from existing files, and
 * keeps the mode of files that only a group can access.
 */
function makePrivate(folder: string, name: string): string {
  const file = join(folder, name)
  try {
    closeSync(openSync(file, 'a', 0o600))
    for (const each of [file, `${file}-wal`, `${file}-shm`]) closeToOthers(each)
  } catch (cause) {
    throw notWritable(folder, cause)
  }
  return file
}

function closeToOthers(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found || (found.mode & 0o007) === 0) return
  try {
    chmodSync(file, 0o600)
  } catch {
    // The file belongs to another user. If it is not accessible, opening it fails with an error.
  }
}

/** Turns an SQLite error into a message for operators, without a stack trace. */
export function explained(thrown: unknown, file: string): unknown {
  const error = thrown instanceof DatabaseUnavailable ? thrown.cause : thrown
  const { code, errcode = 0, message } = Object(error) as { code?: string; errcode?: number; message?: string }
  if (code !== 'ERR_SQLITE_ERROR') return error
  const [what, next] = advice(errcode & 0xff)
  return new StartError(`The database ${file} cannot be used: ${what ?? message}. ${next}`, { cause: error })
}

/** The cause, unless SQLite's message already says it, and what to do next. */
function advice(errcode: number): [what: string | undefined, next: string] {
  if (errcode === 8 || errcode === 14) {
    return [
      'the user who runs the platform has no write access',
      'Give that user write access to the folder and its files, or choose another folder with --data.',
    ]
  }
  if (errcode === 13) return ['the disk is full', 'Free some space, or choose another folder with --data.']
  return [undefined, 'If it is damaged, restore a backup, or choose another folder with --data.']
}

function owner(folder: string): string {
  try {
    return ` (process ${readFileSync(join(folder, 'pid'), 'utf8').trim()})`
  } catch {
    return ''
  }
}

function makeFolder(folder: string): void {
  try {
    makeFolders(resolve(folder))
  } catch (cause) {
    throw new StartError(`The data folder ${folder} cannot be used: ${(cause as Error).message}.`, { cause })
  }
}

/** One level at a time: Node's `recursive` never returns below folders like /proc. */
function makeFolders(folder: string): void {
  if (existsSync(folder)) return
  makeFolders(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process was faster.
    if (!existsSync(folder)) throw error
  }
}

function orClose<T>(lock: DatabaseSync, work: () => T): T {
  try {
    return work()
  } catch (error) {
    lock.close()
    throw error
  }
}

const preallocatedLog = 8 * 1024 * 1024

/**
 * Opens SQLite's write-ahead log to sync it, and preallocates it: syncing overwritten bytes takes half as long as syncing a
 * file that grew. SQLite ignores everything after its last frame.
 */
function openLog(file: string): number {
  const log = openSync(file, 'r+')
  const { size } = fstatSync(log)
  if (size < preallocatedLog) writeSync(log, Buffer.alloc(preallocatedLog - size), 0, preallocatedLog - size, size)
  return log
}

/** SQLite result codes that concern the file or the disk, not the statement. */
const unavailableReasons: Readonly<Record<number, string>> = {
  5: 'it is locked by another program',
  6: 'it is locked by another program',
  8: 'its file is read-only',
  10: 'its file cannot be read or written',
  11: 'its file is damaged',
  13: 'the disk is full',
  14: 'its file cannot be opened',
}

/** Converts errors about the file or disk to `DatabaseUnavailable`. Ignores the extended bits of the result code. */
function whereUnavailable(error: unknown, onlyRead: boolean): unknown {
  const reason = unavailableReasons[((error as { errcode?: number } | null)?.errcode ?? 0) & 0xff]
  return reason === undefined ? error : new DatabaseUnavailable(reason, onlyRead, { cause: error })
}

function guarded<T>(work: () => T, onlyRead: boolean): T {
  try {
    return work()
  } catch (error) {
    throw whereUnavailable(error, onlyRead)
  }
}

/** Adapts `node:sqlite` to Kysely's SQLite dialect, and caches prepared statements. */
function adapt(database: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, ReturnType<SqliteDatabase['prepare']>>()
  const wrap = (statement: StatementSync, text: string): ReturnType<SqliteDatabase['prepare']> => {
    const onlyReads = /^\s*select\b/i.test(text)
    const isRollback = /^\s*rollback\s*$/i.test(text)
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => guarded(() => statement.all(...(parameters as SQLInputValue[])), onlyReads),
      // After some errors, SQLite has already rolled back.
      run: (parameters) =>
        isRollback && !database.isTransaction
          ? { changes: 0, lastInsertRowid: 0 }
          : guarded(() => statement.run(...(parameters as SQLInputValue[])), onlyReads),
      iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
    }
  }
  return {
    close: () => database.close(),
    prepare(text) {
      let statement = prepared.get(text)
      if (!statement) {
        statement = wrap(database.prepare(text), text)
        if (prepared.size > 500) prepared.clear()
        // A schema change invalidates the prepared statements.
        if (/^\s*(create|alter|drop)/i.test(text)) prepared.clear()
        else prepared.set(text, statement)
      }
      return statement
    },
  }
}

const callColumns = [
  'id',
  'project_id',
  'parent_call_id',
  'generation_id',
  'agent_id',
  'tool_id',
  'tool',
  'app',
  'action',
  'status',
  'principal_kind',
  'principal_id',
  'principal_name',
  'surface',
  'server_id',
  'client_name',
  'client_version',
  'request',
  'request_truncated',
  'preset_keys',
  'response',
  'response_truncated',
  'error',
  'duration_ms',
  'waited_ms',
  'mode',
  'created_at',
  'completed_at',
] as const satisfies readonly (keyof CallRow)[]

/** In the order of `callColumns`. Written out, because a list of the values for each row would be slower. */
const insertCall = (statement: StatementSync, row: CallRow) =>
  statement.run(
    row.id,
    row.project_id,
    row.parent_call_id,
    row.generation_id,
    row.agent_id,
    row.tool_id,
    row.tool,
    row.app,
    row.action,
    row.status,
    row.principal_kind,
    row.principal_id,
    row.principal_name,
    row.surface,
    row.server_id,
    row.client_name,
    row.client_version,
    row.request,
    row.request_truncated,
    row.preset_keys,
    row.response,
    row.response_truncated,
    row.error,
    row.duration_ms,
    row.waited_ms,
    row.mode,
    row.created_at,
    row.completed_at,
  )

function openDatabase(file: string, lock: DatabaseSync): DatabaseSync {
  try {
    const database = new DatabaseSync(file)
    // With NORMAL, the log is synced by the checkpoints, twice a second, and by `settle`, which does it off the event loop
    // and once for a whole group of calls.
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      PRAGMA foreign_keys = ON;
      PRAGMA busy_timeout = 5000;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = -16000;
    `)
    return database
  } catch (error) {
    lock.close()
    throw explained(error, file)
  }
}

export function openSqlite(folder: string, syncCalls = false): Engine {
  makeFolder(folder)
  const lock = lockFolder(folder)
  const file = orClose(lock, () => makePrivate(folder, 'quartermaster.db'))
  const database = openDatabase(file, lock)
  const checkpoints = new Checkpoints(database, file)
  const db = new Kysely<Tables>({ dialect: new FairSqliteDialect({ database: adapt(database) }) })

  let statements: Record<'start' | 'begin' | 'end' | 'commit', StatementSync> | undefined
  const callStatements = () => {
    statements ??= {
      start: database.prepare('BEGIN IMMEDIATE'),
      commit: database.prepare('COMMIT'),
      begin: database.prepare(
        `insert into calls (${callColumns.join(', ')}) values (${callColumns.map(() => '?').join(', ')})`,
      ),
      end: database.prepare(
        `update calls set status = ?, response = ?, response_truncated = ?, error = ?, duration_ms = ?, waited_ms = ?, completed_at = ? where id = ? and completed_at is null`,
      ),
    }
    return statements
  }

  const writeNow = (begun: readonly CallRow[], ended: readonly CallEnd[]) => {
    const { start, begin, end, commit } = callStatements()
    guarded(() => start.run(), false)
    try {
      for (const row of begun) insertCall(begin, row)
      for (const row of ended) {
        const { status, response, response_truncated, error, duration_ms, waited_ms, completed_at, id } = row
        end.run(status, response, response_truncated, error, duration_ms, waited_ms, completed_at, id)
      }
      commit.run()
      checkpoints.wrote()
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw whereUnavailable(error, false)
    }
  }

  let log: number | undefined
  let closed = false

  return {
    name: 'sqlite',
    db,

    // There is one connection. If Kysely has a transaction open on it, wait until it ends.
    writeCalls: async (begun, ended) =>
      database.isTransaction ? db.connection().execute(async () => writeNow(begun, ended)) : writeNow(begun, ended),

    concurrentWrites: 1,

    ...(syncCalls && {
      async settle() {
        log ??= openLog(`${file}-wal`)
        await syncData(log)
      },
    }),

    async searchDocuments({ projectIds, words, limit }) {
      if (words.length === 0 || projectIds?.length === 0) return []
      const query = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' OR ')
      const { rows } = await sql<{ id: string; score: number }>`
        select documents.id as id, -bm25(documents_search, 4.0, 1.0) as score
        from documents_search join documents on documents.rowid = documents_search.rowid
        where documents_search match ${query}
        ${projectIds ? sql`and documents.project_id in (${sql.join(projectIds)})` : sql``}
        order by score desc, documents.id limit ${limit}`.execute(db)
      return rows
    },

    async freeBytes() {
      const { bavail, bsize } = await statfs(folder)
      return bavail * bsize
    },

    // FTS5's snippet() is quadratic in the number of matches: it takes minutes for a few long documents.
    async snippetsOf(ids, words) {
      const { rows } = await sql<{ id: string; beginning: string }>`
        select id, substr(content, 1, ${longestBeginning}) as beginning from documents
        where id in (${sql.join(ids)})`.execute(db)
      return new Map(rows.map(({ id, beginning }) => [id, snippetOf(beginning, words)]))
    },

    hasPeers: false,
    publish: async () => {},
    subscribe: () => {},
    isDuplicate: (error) => error instanceof Error && /UNIQUE constraint failed/.test(error.message),

    async close() {
      if (closed) return
      closed = true
      await checkpoints.close()
      if (log !== undefined) closeSync(log)
      await db.connection().execute(async () => {})
      await db.destroy()
      lock.close()
    },
  }
}
