import { join } from 'node:path'
import { ChangeEvents } from '../db/change-events.ts'
import type { Engine } from '../db/engine.ts'
import { migrate } from '../db/migrate.ts'
import { explained, openSqlite } from '../db/sqlite.ts'
import { WriteProbe } from '../db/write-probe.ts'
import { AccessPolicies } from './access-policies.ts'
import { Agents } from './agents.ts'
import { AiProviders } from './ai-providers.ts'
import { ApiKeys } from './api-keys.ts'
import { ApiSnapshots } from './api-snapshots.ts'
import { ApprovalRules } from './approval-rules.ts'
import { Approvals } from './approvals.ts'
import { AuthConfigs } from './auth-configs.ts'
import { Calls } from './calls.ts'
import { ConnectLinks } from './connect-links.ts'
import { Connections } from './connections.ts'
import { Definitions } from './definitions.ts'
import { Documents } from './documents.ts'
import { Files } from './files.ts'
import { Generations } from './generations.ts'
import { Guides } from './guides.ts'
import { IdempotencyKeys } from './idempotency-keys.ts'
import { Journals } from './journal.ts'
import { Modes } from './modes.ts'
import { Names } from './names.ts'
import { OauthArtifacts } from './oauth-artifacts.ts'
import { OAuthClients } from './oauth-clients.ts'
import { OauthGrants } from './oauth-grants.ts'
import { OauthKeys } from './oauth-keys.ts'
import { Projects } from './projects.ts'
import { Results } from './results.ts'
import { Sealed } from './sealed.ts'
import { Secrets } from './secrets.ts'
import { Servers } from './servers.ts'
import { Sessions } from './sessions.ts'
import { Settings } from './settings.ts'
import { SignInProviders } from './sign-in-providers.ts'
import { Skills } from './skills.ts'
import { Tools } from './tools.ts'
import { TrustedIssuers } from './trusted-issuers.ts'
import { Users } from './users.ts'
import { Vectors } from './vectors.ts'
import { WebSessions } from './web-sessions.ts'
import { WebhookStore } from './webhooks.ts'
import { WorkflowRuns } from './workflow-runs.ts'

export type StoreOptions = { readonly syncCalls?: boolean } & (
  | { readonly databaseUrl: string; readonly data?: string }
  | { readonly data: string; readonly databaseUrl?: undefined }
)

/** All repositories. */
export interface Store {
  readonly engine: Engine
  readonly changes: ChangeEvents
  readonly projects: Projects
  readonly apiKeys: ApiKeys
  readonly accessPolicies: AccessPolicies
  readonly tools: Tools
  readonly documents: Documents
  readonly files: Files
  readonly apiSnapshots: ApiSnapshots
  readonly calls: Calls
  readonly definitions: Definitions
  readonly servers: Servers
  readonly modes: Modes
  readonly skills: Skills
  readonly aiProviders: AiProviders
  readonly idempotencyKeys: IdempotencyKeys
  readonly names: Names
  readonly oauthArtifacts: OauthArtifacts
  readonly oauthGrants: OauthGrants
  readonly oauthKeys: OauthKeys
  readonly trustedIssuers: TrustedIssuers
  readonly settings: Settings
  readonly sealed: Sealed
  readonly secrets: Secrets
  readonly connections: Connections
  readonly authConfigs: AuthConfigs
  readonly oauthClients: OAuthClients
  readonly connectLinks: ConnectLinks
  readonly vectors: Vectors
  readonly results: Results
  readonly agents: Agents
  readonly generations: Generations
  readonly journals: Journals
  readonly sessions: Sessions
  readonly guides: Guides
  readonly workflowRuns: WorkflowRuns
  readonly webhooks: WebhookStore
  readonly approvals: Approvals
  readonly approvalRules: ApprovalRules
  readonly webSessions: WebSessions
  readonly users: Users
  readonly signInProviders: SignInProviders
  readonly writeProbe: WriteProbe
  close(): Promise<void>
}

export async function openStore(options: StoreOptions): Promise<Store> {
  // Loaded on demand, so that SQLite users do not wait for the PostgreSQL driver.
  const engine = options.databaseUrl
    ? await (await import('../db/postgres.ts')).openPostgres(options.databaseUrl)
    : openSqlite(options.data as string, options.syncCalls)
  try {
    await migrate(engine)
  } catch (error) {
    await engine.close()
    throw options.databaseUrl ? error : explained(error, join(options.data as string, 'quartermaster.db'))
  }
  const changes = new ChangeEvents(engine)
  const calls = new Calls(engine, changes)
  return {
    engine,
    changes,
    projects: new Projects(engine),
    apiKeys: new ApiKeys(engine, changes),
    accessPolicies: new AccessPolicies(engine, changes),
    tools: new Tools(engine, changes),
    documents: new Documents(engine),
    files: new Files(engine),
    apiSnapshots: new ApiSnapshots(engine),
    calls,
    definitions: new Definitions(engine),
    servers: new Servers(engine, changes),
    modes: new Modes(engine, changes),
    skills: new Skills(engine, changes),
    aiProviders: new AiProviders(engine),
    idempotencyKeys: new IdempotencyKeys(engine),
    names: new Names(engine),
    oauthArtifacts: new OauthArtifacts(engine),
    oauthGrants: new OauthGrants(engine, changes),
    oauthKeys: new OauthKeys(engine),
    trustedIssuers: new TrustedIssuers(engine, changes),
    settings: new Settings(engine),
    sealed: new Sealed(engine),
    secrets: new Secrets(engine, changes),
    connections: new Connections(engine, changes),
    authConfigs: new AuthConfigs(engine, changes),
    oauthClients: new OAuthClients(engine),
    connectLinks: new ConnectLinks(engine),
    vectors: new Vectors(engine),
    results: new Results(engine),
    agents: new Agents(engine),
    generations: new Generations(engine, changes),
    journals: new Journals(engine),
    sessions: new Sessions(engine, changes),
    guides: new Guides(engine),
    workflowRuns: new WorkflowRuns(engine, changes),
    webhooks: new WebhookStore(engine),
    approvals: new Approvals(engine, changes),
    approvalRules: new ApprovalRules(engine, changes),
    webSessions: new WebSessions(engine),
    users: new Users(engine, changes),
    signInProviders: new SignInProviders(engine),
    writeProbe: new WriteProbe(engine),
    async close() {
      await calls.idle()
      await engine.close()
    },
  }
}
