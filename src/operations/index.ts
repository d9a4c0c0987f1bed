import { isObject, type JsonObject } from '../lib/json.ts'
import type { Level } from '../model/tool.ts'
import { toolTypes } from '../tools/index.ts'
import type { PlatformAction } from '../tools/tool-type.ts'
import { ToolTypes } from '../tools/tool-types.ts'
import * as accessPolicies from './access-policies.ts'
import * as agents from './agents.ts'
import * as aiProviders from './ai-providers.ts'
import * as apiKeys from './api-keys.ts'
import * as appPresets from './app-presets.ts'
import * as approvalRules from './approval-rules.ts'
import * as approvals from './approvals.ts'
import * as apps from './apps.ts'
import * as authConfigs from './auth-configs.ts'
import * as callStats from './call-stats.ts'
import * as calls from './calls.ts'
import * as checkAccess from './check-access.ts'
import * as connectLinks from './connect-links.ts'
import * as connections from './connections.ts'
import * as definitions from './definitions.ts'
import * as diagnoseConnection from './diagnose-connection.ts'
import * as documents from './documents.ts'
import * as files from './files.ts'
import * as footprint from './footprint.ts'
import * as generations from './generations.ts'
import { importMcpServers } from './import-mcp-servers.ts'
import * as inspectOpenApi from './inspect-openapi.ts'
import { inputSchema } from './json-schema.ts'
import * as manifests from './manifests.ts'
import * as modes from './modes.ts'
import * as oauthGrants from './oauth-grants.ts'
import { isAction, type Operation } from './operation.ts'
import * as projects from './projects.ts'
import * as resolve from './resolve.ts'
import * as routines from './routines.ts'
import * as secrets from './secrets.ts'
import * as servers from './servers.ts'
import * as sessions from './sessions.ts'
import * as signInProviders from './sign-in-providers.ts'
import * as signingKeys from './signing-keys.ts'
import * as skillFiles from './skill-files.ts'
import * as skills from './skills.ts'
import * as typesOfTools from './tool-types.ts'
import * as tools from './tools.ts'
import { toolOperations } from './tools.ts'
import * as trustedIssuers from './trusted-issuers.ts'
import * as users from './users.ts'
import * as webhooks from './webhooks.ts'
import * as workflowDrafts from './workflow-drafts.ts'
import * as workflowRuns from './workflow-runs.ts'
import * as xml from './xml.ts'

const isOperation = (value: unknown): value is Operation => isObject(value) && 'route' in value && 'perform' in value

/** Operations that control access. As platform actions they need approval unless the tool says otherwise. */
const administrative = new Set([
  ...['api-keys', 'users', 'sign-in-providers', 'access-policies', 'projects', 'secrets', 'oauth-grants'],
  ...['connections', 'auth-configs', 'trusted-issuers', 'signing-keys', 'modes'],
])

const levelOf = ({ permission }: Operation): Level =>
  administrative.has(permission.slice(0, permission.indexOf(':'))) ? 'administrative' : 'open'

function actionOf(operation: Operation): PlatformAction {
  let schema: JsonObject | undefined
  return {
    name: operation.name,
    permission: operation.permission,
    level: levelOf(operation),
    description: operation.summary,
    /** Computed on demand: generating all schemas took a tenth of the startup time. */
    get schema() {
      schema ??= inputSchema(operation)
      return schema
    },
    aliases: operation.aliases,
    idempotent: operation.route.startsWith('GET ') || operation.repeatable === true,
    destructive: operation.route.startsWith('DELETE '),
    readOnly: operation.route.startsWith('GET '),
  }
}

export interface Operations {
  readonly types: ToolTypes
  readonly byName: ReadonlyMap<string, Operation>
  /** Every permission that an access policy can name. */
  readonly permissions: ReadonlySet<string>
  /** The operations that platform tools can offer. */
  readonly platformActions: ReadonlyMap<string, PlatformAction>
}

export function operationsFor(types: ToolTypes): Operations {
  const ofTools = toolOperations(types)
  const all = [
    ...[
      projects,
      apiKeys,
      users,
      signInProviders,
      accessPolicies,
      checkAccess,
      ofTools,
      tools,
      typesOfTools,
      definitions,
      apps,
      inspectOpenApi,
    ],
    { importMcpServers: importMcpServers(ofTools.createTool) },
    ...[servers, resolve, footprint, skills, skillFiles, aiProviders, agents, generations, documents, files, calls],
    workflowDrafts,
    workflowRuns,
    ...[webhooks, approvals, approvalRules, callStats, secrets, xml, oauthGrants, connections, connectLinks],
    ...[diagnoseConnection, authConfigs],
    ...[appPresets, sessions, manifests, routines, trustedIssuers, signingKeys, modes],
  ].flatMap((module) => (Object.values(module) as unknown[]).filter(isOperation))
  return {
    types,
    byName: new Map(all.map((operation) => [operation.name, operation])),
    permissions: new Set([
      ...all.map(({ permission }) => permission),
      'access-policies:AttachAccessPolicy',
      'servers:UseServer',
      'secrets:UseSecret',
      'modes:UseMode',
      'connections:OverrideIssuer',
      ...types.all.flatMap((type) => type.permissions ?? []),
    ]),
    platformActions: new Map(all.filter(isAction).map((operation) => [operation.name, actionOf(operation)])),
  }
}

/**
 * The operations of a platform with the built-in tool types. The SDK, the CLI and the reference are generated from
 * them.
 */
export const builtIn = operationsFor(new ToolTypes(toolTypes))
export const operations: readonly Operation[] = [...builtIn.byName.values()]
export const { permissions } = builtIn
