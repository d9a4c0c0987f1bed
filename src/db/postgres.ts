import { randomUUID } from 'node:crypto'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { StartError } from '../model/start-error.ts'
import type { ChangeEvent, Engine } from './engine.ts'
import { guardedPool, repeated } from './postgres-pool.ts'
import type { CallEnd, CallRow, Tables } from './tables.ts'

const channel = 'quartermaster'
const notify = 'select pg_notify($1, $2)'

/** Parses 64-bit integers as numbers. The tables use them for milliseconds and counts, far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as never,
}

/**
 * Receives change events from other processes. Events are lost while the connection is down, so every topic is reported as
 * changed after a reconnect.
 */
function listen(url: string, onEvent: (event: ChangeEvent) => void, processId: string) {
  let client: pg.Client | undefined
  let closed = false
  let missed = false
  let delay = 100
  const ready = connect()

  async function connect(): Promise<void> {
    if (closed) return
    const next = new pg.Client({ connectionString: url, keepAlive: true, connectionTimeoutMillis: 10_000 })
    client = next
    next.on('error', () => {})
    next.on('end', () => {
      missed = true
      if (!closed) setTimeout(() => void connect(), delay).unref()
      delay = Math.min(delay * 2, 5000)
    })
    next.on('notification', ({ payload }) => {
      const { from, ...event } = JSON.parse(payload ?? '{}')
      if (from !== processId) onEvent(event)
    })
    try {
      await next.connect()
      await next.query(`listen ${channel}`)
      if (missed)
        for (const topic of [
          ...(['api_keys', 'users', 'access_policies', 'tools', 'servers', 'skills', 'jobs'] as const),
          ...(['approvals', 'approval_rules', 'generations'] as const),
        ])
          onEvent({ topic, ids: [] })
      missed = false
      delay = 100
    } catch {
      await next.end().catch(() => {})
    }
  }

  return {
    ready,
    async close() {
      closed = true
      await client?.end().catch(() => {})
    },
  }
}

/** Throws an error that explains why the database is unreachable. Never includes its password. */
async function requireReachable(pool: pg.Pool, url: string): Promise<void> {
  try {
    await pool.query('select 1')
  } catch (cause) {
    await pool.end()
    const where = URL.parse(url)
    const name = where ? `${where.hostname}:${where.port || 5432}${where.pathname}` : 'the address in DATABASE_URL'
    throw new StartError(
      `PostgreSQL at ${name} cannot be used: ${(cause as Error).message}. Check DATABASE_URL and that the database is running.`,
      { cause },
    )
  }
}

const insertCalls = 'insert into calls select * from json_populate_recordset(null::calls, $1::json)'

/**
 * The limit tells PostgreSQL how many rows to expect. Statements with this have no name, so that they are planned each time:
 * the plan of a named one is kept, and if it was made while the log was small, it reads the whole log.
 */
const updateCalls = (ends: '$1' | '$2', count: '$2' | '$3') => `
  update calls set status = e.status, response = e.response, response_truncated = e.response_truncated,
    error = e.error, duration_ms = e.duration_ms, waited_ms = e.waited_ms, completed_at = e.completed_at
  from (select * from json_populate_recordset(null::calls, ${ends}::json) limit ${count}) e
  where calls.id = e.id and calls.completed_at is null`

const endCalls = updateCalls('$1', '$2')
/** One statement, because a commit takes longer than the rows that it writes. */
const writeBoth = `with ended as (${updateCalls('$2', '$3')}) ${insertCalls}`

/** deadlock_detected: PostgreSQL aborted this one of two transactions that waited for each other. */
const deadlock = '40P01'

/**
 * Two processes may end the same calls. Rows are sorted by id to avoid deadlocks. PostgreSQL does not guarantee that order,
 * though, so a deadlock is retried once.
 */
async function writeOnce(pool: pg.Pool, begun: readonly CallRow[], ended: readonly CallEnd[]): Promise<void> {
  const rows = JSON.stringify(begun)
  const ends = JSON.stringify([...ended].sort((a, b) => (a.id < b.id ? -1 : 1)))
  const query =
    ended.length === 0
      ? { name: 'begin-calls', text: insertCalls, values: [rows] }
      : begun.length === 0
        ? { text: endCalls, values: [ends, ended.length] }
        : { text: writeBoth, values: [rows, ends, ended.length] }
  try {
    await pool.query(query)
  } catch (error) {
    if ((error as { code?: string }).code !== deadlock) throw error
    await pool.query(query)
  }
}

/**
 * After the connection was lost, the rows may have been written or not. Skips existing rows, and checks that this process
 * wrote them: if another process has begun the same call, both would run it.
 */
async function beginAgain(pool: pg.Pool, begun: readonly CallRow[]): Promise<void> {
  await pool.query(`${insertCalls} on conflict (id) do nothing`, [JSON.stringify(begun)])
  const { rows } = await pool.query<Pick<CallRow, 'id' | 'created_at'>>(
    'select id, created_at from calls where id = any($1)',
    [begun.map(({ id }) => id)],
  )
  const written = new Map(rows.map((row) => [row.id, row]))
  const isOurs = ({ id, created_at }: CallRow) => written.get(id)?.created_at === created_at
  if (!begun.every(isOurs)) throw new Error('a call was begun twice')
}

/** Ending a call twice changes nothing. */
const writeCalls = (pool: pg.Pool, begun: readonly CallRow[], ended: readonly CallEnd[]): Promise<void> =>
  repeated(writeBoth, async (attempt) => {
    if (attempt === 0) return writeOnce(pool, begun, ended)
    if (begun.length > 0) await beginAgain(pool, begun)
    if (ended.length > 0) await writeOnce(pool, [], ended)
  })

export async function openPostgres(url: string, poolSize = 10): Promise<Engine> {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    types,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  })
  // The pool replaces a connection that breaks while idle. If the database is down, the next query fails.
  pool.on('error', () => {})
  // The same for a connection that breaks during a transaction. Without a listener, the error would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  await requireReachable(pool, url)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: guardedPool(pool) }) })
  const listeners: ((event: ChangeEvent) => void)[] = []
  const processId = randomUUID()
  const subscription = listen(url, (event) => listeners.forEach((listener) => void listener(event)), processId)
  await subscription.ready

  return {
    name: 'postgres',
    db,
    pool,

    writeCalls: (begun, ended) => writeCalls(pool, begun, ended),

    // Most of the time is spent waiting for the commit, and commits on several connections can be flushed together.
    concurrentWrites: 3,

    async searchDocuments({ projectIds, words, limit }) {
      if (words.length === 0 || projectIds?.length === 0) return []
      const { rows } = await sql<{ id: string; score: number }>`
        select id, ts_rank_cd(search, query)::float8 as score
        from documents, to_tsquery('english', ${anyOf(words)}) query
        where search @@ query
        ${projectIds ? sql`and project_id in (${sql.join(projectIds)})` : sql``}
        order by score desc, id limit ${limit}`.execute(db)
      return rows
    },

    async snippetsOf(ids, words) {
      const { rows } = await sql<{ id: string; snippet: string }>`
        select id, ts_headline('english', content, to_tsquery('english', ${anyOf(words)}),
                               'StartSel=**, StopSel=**, MaxWords=24, MinWords=8, MaxFragments=1') as snippet
        from documents where id in (${sql.join(ids)})`.execute(db)
      return new Map(rows.map(({ id, snippet }) => [id, snippet]))
    },

    hasPeers: true,
    async publish({ topic, ids, data }) {
      // The payload of a notification is limited to 8,000 bytes.
      for (let start = 0; start < Math.max(ids.length, 1); start += 150) {
        const payload = JSON.stringify({ from: processId, topic, ids: ids.slice(start, start + 150), data })
        await repeated(notify, () => pool.query(notify, [channel, payload]))
      }
    },
    subscribe: (listener) => void listeners.push(listener),
    isDuplicate: (error) => (error as { code?: string } | null)?.code === '23505',

    async close() {
      await subscription.close()
      await db.destroy()
    },
  }
}

/** A tsquery that matches texts with any of the words. */
const anyOf = (words: readonly string[]): string =>
  words.map((word) => `'${word.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`).join(' | ')
