import { isObject, type JsonObject } from '../lib/json.ts'
import type { Level } from '../model/tool.ts'
import type { PlatformAction } from '../tools/tool-type.ts'
import * as accessPolicies from './access-policies.ts'
import * as agents from './agents.ts'
import * as aiProviders from './ai-providers.ts'
import * as apiKeys from './api-keys.ts'
import * as approvalRules from './approval-rules.ts'
import * as approvals from './approvals.ts'
import * as callStats from './call-stats.ts'
import * as calls from './calls.ts'
import * as checkAccess from './check-access.ts'
import * as definitions from './definitions.ts'
import * as documents from './documents.ts'
import * as files from './files.ts'
import * as footprint from './footprint.ts'
import * as generations from './generations.ts'
import * as imports from './import-mcp-servers.ts'
import { inputSchema } from './json-schema.ts'
import { isAction, type Operation } from './operation.ts'
import * as projects from './projects.ts'
import * as resolve from './resolve.ts'
import * as servers from './servers.ts'
import * as skillFiles from './skill-files.ts'
import * as skills from './skills.ts'
import * as tools from './tools.ts'
import * as webhooks from './webhooks.ts'

const isOperation = (value: unknown): value is Operation => isObject(value) && 'route' in value && 'perform' in value

/** Everything a caller may ask of the platform. */
export const operations: readonly Operation[] = [
  projects,
  apiKeys,
  accessPolicies,
  checkAccess,
  tools,
  definitions,
  imports,
  servers,
  resolve,
  footprint,
  skills,
  skillFiles,
  aiProviders,
  agents,
  generations,
  documents,
  files,
  calls,
  webhooks,
  approvals,
  approvalRules,
  callStats,
].flatMap((module) => (Object.values(module) as unknown[]).filter(isOperation))

/** Every permission that an access policy can name. */
export const permissions: ReadonlySet<string> = new Set([
  ...operations.map(({ permission }) => permission),
  'access-policies:AttachAccessPolicy',
  'servers:UseServer',
  'tools:RunProgram',
])

/** Operations that decide who may do what. As platform actions they need approval unless the tool says otherwise. */
const administrative = new Set(['api-keys', 'access-policies', 'projects'])

const levelOf = ({ permission }: Operation): Level =>
  administrative.has(permission.slice(0, permission.indexOf(':'))) ? 'administrative' : 'open'

/** The operations that platform tools can offer. */
export const platformActions: ReadonlyMap<string, PlatformAction> = new Map(
  operations.filter(isAction).map((operation) => [operation.name, actionOf(operation)]),
)

function actionOf(operation: Operation): PlatformAction {
  let schema: JsonObject | undefined
  return {
    name: operation.name,
    permission: operation.permission,
    level: levelOf(operation),
    description: operation.summary,
    /** Printed for whoever asks: printing them all took a tenth of a start. */
    get schema() {
      schema ??= inputSchema(operation)
      return schema
    },
    aliases: operation.aliases,
    idempotent: operation.route.startsWith('GET ') || operation.repeatable === true,
    destructive: operation.route.startsWith('DELETE '),
  }
}
