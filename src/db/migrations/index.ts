import type { Kysely } from 'kysely'
import type { EngineName } from '../engine.ts'
import * as first from './2026-11-15-first.ts'
import * as mcp from './2026-11-16-mcp.ts'
import * as vectors from './2026-11-16-vectors.ts'
import * as wholeResults from './2026-11-16-whole-results.ts'
import * as agents from './2026-11-17-agents.ts'
import * as aiProviders from './2026-11-17-ai-providers.ts'
import * as queue from './2026-11-17-queue.ts'
import * as webhooks from './2026-11-17-webhooks.ts'
import * as approvals from './2026-11-18-approvals.ts'
import * as webSessions from './2026-11-18-web-sessions.ts'
import * as callServer from './2026-11-21-call-server.ts'
import * as definitionTexts from './2026-11-22-definition-texts.ts'
import * as callWaiting from './2026-11-23-call-waiting.ts'
import * as keyAncestors from './2026-11-23-key-ancestors.ts'
import * as masking from './2026-11-23-masking.ts'
import * as toolTypeAlias from './2026-11-23-tool-type-alias.ts'
import * as toolsPerApp from './2026-11-23-tools-per-app.ts'
import * as toolConfig from './2026-11-24-tool-config.ts'
import * as secrets from './2026-11-25-secrets.ts'
import * as toolSecrets from './2026-11-26-tool-secrets.ts'
import * as users from './2026-11-27-users.ts'
import * as connections from './2026-11-28-connections.ts'
import * as oauthServer from './2026-11-29-oauth-server.ts'
import * as openapi from './2026-11-30-openapi.ts'
import * as sessions from './2026-12-02-sessions.ts'
import * as workflowRuns from './2026-12-03-workflow-runs.ts'
import * as mcpPassThrough from './2026-12-04-mcp-pass-through.ts'
import * as modes from './2026-12-05-modes.ts'
import * as resolveTokens from './2026-12-06-resolve-tokens.ts'
import * as identityProviders from './2026-12-10-identity-providers.ts'
import * as sessionWebhooks from './2026-12-11-session-webhooks.ts'
import * as workflowEvents from './2026-12-13-workflow-events.ts'
import * as moreModes from './2026-12-14-modes.ts'

export type MigrationStep = (db: Kysely<unknown>, engine: EngineName) => Promise<void>

/** In the order in which they run. A released migration is never changed; a new one is added below. */
export const migrations: Readonly<Record<string, MigrationStep>> = {
  '2026-11-15-first': first.up,
  '2026-11-16-mcp': mcp.up,
  '2026-11-16-vectors': vectors.up,
  '2026-11-16-whole-results': wholeResults.up,
  '2026-11-17-agents': agents.up,
  '2026-11-17-ai-providers': aiProviders.up,
  '2026-11-17-queue': queue.up,
  '2026-11-17-webhooks': webhooks.up,
  '2026-11-18-approvals': approvals.up,
  '2026-11-18-web-sessions': webSessions.up,
  '2026-11-21-call-server': callServer.up,
  '2026-11-22-definition-texts': definitionTexts.up,
  '2026-11-23-call-waiting': callWaiting.up,
  '2026-11-23-key-ancestors': keyAncestors.up,
  '2026-11-23-masking': masking.up,
  '2026-11-23-tool-type-alias': toolTypeAlias.up,
  '2026-11-23-tools-per-app': toolsPerApp.up,
  '2026-11-24-tool-config': toolConfig.up,
  '2026-11-25-secrets': secrets.up,
  '2026-11-26-tool-secrets': toolSecrets.up,
  '2026-11-27-users': users.up,
  '2026-11-28-connections': connections.up,
  '2026-11-29-oauth-server': oauthServer.up,
  '2026-11-30-openapi': openapi.up,
  '2026-12-02-sessions': sessions.up,
  '2026-12-03-workflow-runs': workflowRuns.up,
  '2026-12-04-mcp-pass-through': mcpPassThrough.up,
  '2026-12-05-modes': modes.up,
  '2026-12-06-resolve-tokens': resolveTokens.up,
  '2026-12-10-identity-providers': identityProviders.up,
  '2026-12-11-session-webhooks': sessionWebhooks.up,
  '2026-12-13-workflow-events': workflowEvents.up,
  '2026-12-14-modes': moreModes.up,
}
