import type { Kysely } from 'kysely'
import type pg from 'pg'
import type { Json } from '../lib/json.ts'
import type { CallEnd, CallRow, Tables } from './tables.ts'

export type EngineName = 'sqlite' | 'postgres'

/** Something changed: a topic and the ids it is about. No ids means that anything of the topic may have changed. */
export interface Notice {
  readonly topic:
    | 'api_keys'
    | 'access_policies'
    | 'tools'
    | 'servers'
    | 'skills'
    | 'calls'
    | 'approvals'
    | 'approval_rules'
    | 'cancelled'
    | 'generations'
    | 'jobs'
  readonly ids: readonly string[]
  /** What there is to say beside that, in a few thousand bytes. */
  readonly data?: Json
}

/** What the two databases do differently. Everything else is written once, on `db`. */
export interface Engine {
  readonly name: EngineName
  readonly db: Kysely<Tables>
  /** PostgreSQL's connections, for what does not go through Kysely. */
  readonly pool?: pg.Pool

  /** Writes a group of call records in one commit. Survives the death of the process once it resolves. */
  writeCalls(begun: readonly CallRow[], ended: readonly CallEnd[]): Promise<void>
  /** Resolves once everything committed before would also survive the machine losing power, where that is asked for. */
  settle(): Promise<void>

  /** Full-text search: which documents fit the words, best first. */
  searchDocuments(search: DocumentSearch): Promise<{ id: string; score: number }[]>
  /** The part of each of these documents that fits the words, by id. */
  snippetsOf(ids: readonly string[], words: readonly string[]): Promise<Map<string, string>>

  /** Tells other processes on the same database; hears what they tell. */
  tell(notice: Notice): Promise<void>
  hear(listener: (notice: Notice) => void): void

  /** Room left on the disk, where the database is a file of ours. */
  freeBytes?(): Promise<number>

  /** Whether the error says that a unique index refused the row. */
  isDuplicate(error: unknown): boolean
  close(): Promise<void>
}

export interface DocumentSearch {
  readonly projectIds: readonly string[] | null
  readonly words: readonly string[]
  readonly limit: number
}
