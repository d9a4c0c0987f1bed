import type { Kysely } from 'kysely'
import type pg from 'pg'
import type { Json } from '../lib/json.ts'
import type { CallEnd, CallRow, Tables } from './tables.ts'

export type EngineName = 'sqlite' | 'postgres'

/** The topic and the ids of the records that changed. No ids means that any record of the topic may have changed. */
export interface ChangeEvent {
  readonly topic:
    | 'api_keys'
    | 'users'
    | 'access_policies'
    | 'tools'
    | 'secrets'
    | 'connections'
    | 'servers'
    | 'oauth_grants'
    | 'trusted_issuers'
    | 'oauth_keys'
    | 'modes'
    | 'skills'
    | 'calls'
    | 'workflow_runs'
    | 'approvals'
    | 'approval_rules'
    | 'cancelled'
    | 'generations'
    | 'sessions'
    | 'jobs'
  readonly ids: readonly string[]
  /** Additional data, up to a few thousand bytes. */
  readonly data?: Json
}

/** The differences between the two databases. Everything else uses `db`. */
export interface Engine {
  readonly name: EngineName
  readonly db: Kysely<Tables>
  /** The PostgreSQL connection pool, for code that does not use Kysely. */
  readonly pool?: pg.Pool

  /** Writes a batch of call records. Once it resolves, they survive a crash of the process. */
  writeCalls(begun: readonly CallRow[], ended: readonly CallEnd[]): Promise<void>
  /**
   * Resolves once everything committed before would also survive a power failure. Absent if commits guarantee that anyway,
   * or if the operator has not enabled it.
   */
  settle?(): Promise<void>
  /** How many batches of call records can be written concurrently. */
  readonly concurrentWrites: number

  /** Full-text search for documents that match any of the words, best first. */
  searchDocuments(search: DocumentSearch): Promise<{ id: string; score: number }[]>
  /** The part of each document that matches the words, by id. */
  snippetsOf(ids: readonly string[], words: readonly string[]): Promise<Map<string, string>>

  /** Whether other processes may use the same database. */
  readonly hasPeers: boolean
  /** Sends the event to other processes on the same database. */
  publish(event: ChangeEvent): Promise<void>
  /** Receives events of other processes. */
  subscribe(listener: (event: ChangeEvent) => void): void

  /** Free disk space, if the database is a local file. */
  freeBytes?(): Promise<number>

  /** Whether the error is a violation of a unique index. */
  isDuplicate(error: unknown): boolean
  close(): Promise<void>
}

export interface DocumentSearch {
  readonly projectIds: readonly string[] | null
  readonly words: readonly string[]
  readonly limit: number
}
