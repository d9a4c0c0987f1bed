import { randomUUID } from 'node:crypto'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { StartError } from '../model/start-error.ts'
import type { Engine, Notice } from './engine.ts'
import { guardedPool, repeated } from './postgres-pool.ts'
import type { CallEnd, CallRow, Tables } from './tables.ts'

const channel = 'quartermaster'
const notify = 'select pg_notify($1, $2)'

/** PostgreSQL's 64-bit integers as numbers: ours are milliseconds and counts, far below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as never,
}

/**
 * Hears the notices of other processes. While the connection is down notices are lost, so when it is back every topic
 * is announced as changed.
 */
function listen(url: string, onNotice: (notice: Notice) => void, me: string) {
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
      const { from, ...notice } = JSON.parse(payload ?? '{}')
      if (from !== me) onNotice(notice)
    })
    try {
      await next.connect()
      await next.query(`listen ${channel}`)
      if (missed)
        for (const topic of [
          ...(['api_keys', 'access_policies', 'tools', 'servers', 'skills', 'jobs'] as const),
          ...(['approvals', 'approval_rules', 'generations'] as const),
        ])
          onNotice({ topic, ids: [] })
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

/** Says what is wrong with the address of the database, and never its password. */
async function requireReachable(pool: pg.Pool, url: string): Promise<void> {
  try {
    await pool.query('select 1')
  } catch (cause) {
    await pool.end()
    const where = URL.parse(url)
    const name = where ? `${where.hostname}:${where.port || 5432}${where.pathname}` : 'the address in DATABASE_URL'
    throw new StartError(`PostgreSQL at ${name} cannot be used: ${(cause as Error).message}.`, { cause })
  }
}

const insertCalls = 'insert into calls select * from json_populate_recordset(null::calls, $1::json)'

/**
 * Where the connection is lost, the rows may be there or not. They are then written again, but for those that are there; and
 * those must be ours, because another process that has begun the same call must not be joined in it.
 */
const beginCalls = (pool: pg.Pool, begun: readonly CallRow[]) =>
  repeated(insertCalls, async (attempt) => {
    const values = [JSON.stringify(begun)]
    if (attempt === 0) return pool.query({ name: 'begin-calls', text: insertCalls, values })
    await pool.query(`${insertCalls} on conflict (id) do nothing`, values)
    const { rows } = await pool.query<Pick<CallRow, 'id' | 'created_at'>>(
      'select id, created_at from calls where id = any($1)',
      [begun.map(({ id }) => id)],
    )
    const written = new Map(rows.map((row) => [row.id, row]))
    const isOurs = ({ id, created_at }: CallRow) => written.get(id)?.created_at === created_at
    if (!begun.every(isOurs)) throw new Error('a call was begun twice')
  })

/** deadlock_detected: of two that waited for each other, PostgreSQL has sent this one away. */
const deadlock = '40P01'

/**
 * Two processes may end the same calls, in the order of their ids, so that neither waits for the other; the order is not
 * PostgreSQL's promise, though, and what it sends away, it takes the second time. To end a call twice changes nothing.
 */
async function endCalls(pool: pg.Pool, ended: readonly CallEnd[]): Promise<void> {
  const query = {
    name: 'end-calls',
    text: `update calls set status = e.status, response = e.response, response_truncated = e.response_truncated,
             error = e.error, duration_ms = e.duration_ms, waited_ms = e.waited_ms, completed_at = e.completed_at
           from json_populate_recordset(null::calls, $1::json) e
           where calls.id = e.id and calls.completed_at is null`,
    values: [JSON.stringify([...ended].sort((a, b) => (a.id < b.id ? -1 : 1)))],
  }
  await repeated(query.text, async () => {
    try {
      await pool.query(query)
    } catch (error) {
      if ((error as { code?: string }).code !== deadlock) throw error
      await pool.query(query)
    }
  })
}

export async function openPostgres(url: string, poolSize = 10): Promise<Engine> {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    types,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  })
  // A connection that breaks while idle is replaced by the pool; the query that needs it next reports a real failure.
  pool.on('error', () => {})
  // So does one that breaks in the middle of a transaction; unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  await requireReachable(pool, url)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: guardedPool(pool) }) })
  const listeners: ((notice: Notice) => void)[] = []
  const me = randomUUID()
  const ear = listen(url, (notice) => listeners.forEach((listener) => void listener(notice)), me)
  await ear.ready

  return {
    name: 'postgres',
    db,
    pool,

    async writeCalls(begun, ended) {
      await Promise.all([begun.length > 0 && beginCalls(pool, begun), ended.length > 0 && endCalls(pool, ended)])
    },

    // A commit is on disk when PostgreSQL answers it.
    settle: async () => {},

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

    async tell({ topic, ids, data }) {
      // A notice holds at most 8,000 bytes.
      for (let start = 0; start < Math.max(ids.length, 1); start += 150) {
        const payload = JSON.stringify({ from: me, topic, ids: ids.slice(start, start + 150), data })
        await repeated(notify, () => pool.query(notify, [channel, payload]))
      }
    },
    hear: (listener) => void listeners.push(listener),
    isDuplicate: (error) => (error as { code?: string } | null)?.code === '23505',

    async close() {
      await ear.close()
      await db.destroy()
    },
  }
}

/** A query of PostgreSQL for texts with any of the words. */
const anyOf = (words: readonly string[]): string =>
  words.map((word) => `'${word.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`).join(' | ')
