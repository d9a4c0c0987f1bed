import { join } from 'node:path'
import type { Engine } from '../db/engine.ts'
import { migrate } from '../db/migrate.ts'
import { Notices } from '../db/notices.ts'
import { explained, openSqlite } from '../db/sqlite.ts'
import { WriteProbe } from '../db/write-probe.ts'
import { AccessPolicies } from './access-policies.ts'
import { Agents } from './agents.ts'
import { AiProviders } from './ai-providers.ts'
import { ApiKeys } from './api-keys.ts'
import { ApprovalRules } from './approval-rules.ts'
import { Approvals } from './approvals.ts'
import { Calls } from './calls.ts'
import { Definitions } from './definitions.ts'
import { Documents } from './documents.ts'
import { Files } from './files.ts'
import { Generations } from './generations.ts'
import { IdempotencyKeys } from './idempotency-keys.ts'
import { Journals } from './journal.ts'
import { Names } from './names.ts'
import { Projects } from './projects.ts'
import { Results } from './results.ts'
import { Sealed } from './sealed.ts'
import { Servers } from './servers.ts'
import { Settings } from './settings.ts'
import { Skills } from './skills.ts'
import { Tools } from './tools.ts'
import { Vectors } from './vectors.ts'
import { WebSessions } from './web-sessions.ts'
import { WebhookStore } from './webhooks.ts'

export type StoreOptions = { readonly syncCalls?: boolean } & (
  | { readonly databaseUrl: string; readonly data?: string }
  | { readonly data: string; readonly databaseUrl?: undefined }
)

/** All that the platform remembers. */
export interface Store {
  readonly engine: Engine
  readonly notices: Notices
  readonly projects: Projects
  readonly apiKeys: ApiKeys
  readonly accessPolicies: AccessPolicies
  readonly tools: Tools
  readonly documents: Documents
  readonly files: Files
  readonly calls: Calls
  readonly definitions: Definitions
  readonly servers: Servers
  readonly skills: Skills
  readonly aiProviders: AiProviders
  readonly idempotencyKeys: IdempotencyKeys
  readonly names: Names
  readonly settings: Settings
  readonly sealed: Sealed
  readonly vectors: Vectors
  readonly results: Results
  readonly agents: Agents
  readonly generations: Generations
  readonly journals: Journals
  readonly webhooks: WebhookStore
  readonly approvals: Approvals
  readonly approvalRules: ApprovalRules
  readonly webSessions: WebSessions
  readonly writeProbe: WriteProbe
  close(): Promise<void>
}

export async function openStore(options: StoreOptions): Promise<Store> {
  // Those on SQLite need not wait for what speaks to PostgreSQL.
  const engine = options.databaseUrl
    ? await (await import('../db/postgres.ts')).openPostgres(options.databaseUrl)
    : openSqlite(options.data as string, options.syncCalls)
  try {
    await migrate(engine)
  } catch (error) {
    await engine.close()
    throw options.databaseUrl ? error : explained(error, join(options.data as string, 'quartermaster.db'))
  }
  const notices = new Notices(engine)
  const calls = new Calls(engine, notices)
  return {
    engine,
    notices,
    projects: new Projects(engine),
    apiKeys: new ApiKeys(engine, notices),
    accessPolicies: new AccessPolicies(engine, notices),
    tools: new Tools(engine, notices),
    documents: new Documents(engine),
    files: new Files(engine),
    calls,
    definitions: new Definitions(engine),
    servers: new Servers(engine, notices),
    skills: new Skills(engine, notices),
    aiProviders: new AiProviders(engine),
    idempotencyKeys: new IdempotencyKeys(engine),
    names: new Names(engine),
    settings: new Settings(engine),
    sealed: new Sealed(engine),
    vectors: new Vectors(engine),
    results: new Results(engine),
    agents: new Agents(engine),
    generations: new Generations(engine, notices),
    journals: new Journals(engine),
    webhooks: new WebhookStore(engine),
    approvals: new Approvals(engine, notices),
    approvalRules: new ApprovalRules(engine, notices),
    webSessions: new WebSessions(engine),
    writeProbe: new WriteProbe(engine),
    async close() {
      await calls.idle()
      await engine.close()
    },
  }
}
