import { z } from 'zod'
import { evaluate, type Resource } from '../access/evaluate.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import { Id } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import { CallAnswer, CallQuestion, type CheckedCall, checkCall, noCall, type Question } from './check-call.ts'
import { type Context, operation, requireAllowed } from './operation.ts'

export const AccessCheck = z.object({
  allowed: z.boolean(),
  layer: z.enum(['project', 'access policy', 'agent boundary', 'agent', 'mode']).describe('The check that decided'),
  access_policy_id: z.string().nullable().describe('The access policy that decided; null if none applies'),
  reason: z.string(),
  ...CallAnswer,
})

export const checkAccess = operation({
  name: 'check-access',
  permission: 'access-policies:CheckAccess',
  route: 'POST /access/check',
  summary: 'Check whether a key or person is allowed to do something, and which policy decides',
  example: { api_key_id: 'key_environment', permission: 'tools:CallTool', resource: 'qm:*:tool:tool_1' },
  input: z.strictObject({
    api_key_id: Id.optional(),
    user_id: Id.optional().describe('Instead of api_key_id: a person'),
    permission: z.string().min(1).max(200).describe('Such as tools:CallTool'),
    resource: z
      .string()
      .max(1000)
      .regex(/^qm:[^:]+:[a-z-]+:.+$/, 'must be "qm:<project>:<kind>:<id>", where * means none or any')
      .describe(
        'qm:<project>:<kind>:<id>. Use * as the project for resources without one, and * as the id for a new resource',
      ),
    ...CallQuestion,
  }),
  output: AccessCheck,
  async run({ api_key_id, user_id, permission, resource, ...question }, context) {
    const { principal, store, permissions } = context
    const holder = await findHolder({ api_key_id, user_id }, context)
    const own = { projectId: holder.projectId, kind: kindOf(holder), id: holder.id }
    requireAllowed(principal, 'access-policies:CheckAccess', own)
    if (!permissions.has(permission)) throw unknownPermission(permission, permissions)
    const policies = await store.accessPolicies.findMany(holder.grants.map(({ policyId }) => policyId))
    const asked = read(resource)
    const { objection, agent, tool, ...answer } = await callOf(holder, permission, asked, question, context)
    const decision = evaluate(holder, permission, tool ?? asked)
    const nameOf = (policyId: string) => policies.find((policy) => policy.id === policyId)?.name ?? policyId
    if (!decision.allowed && !agent) return { ...answer, ...denialOf(decision, holder, nameOf) }
    const by = decision.allowed ? decision.by : null
    if (objection)
      return { allowed: false, layer: 'mode' as const, access_policy_id: null, reason: objection, ...answer }
    const reason = by === null ? `The agent "${agent?.name}" has the tool.` : `"${nameOf(by)}" allows it.`
    const layer = by === null ? ('agent' as const) : ('access policy' as const)
    return { allowed: true, layer, access_policy_id: by, reason, ...answer }
  },
})

function denialOf(
  { layer, by }: Extract<ReturnType<typeof evaluate>, { allowed: false }>,
  holder: Principal,
  nameOf: (policyId: string) => string,
) {
  const called = holder.kind === 'user' ? 'person' : 'key'
  const policyReason = by ? `"${nameOf(by)}" denies it.` : `No access policy of the ${called} allows it.`
  const reason = layer === 'project' ? `The ${called} is bound to another project.` : policyReason
  return { allowed: false, layer, access_policy_id: by ?? null, reason }
}

/** Modes apply to calls of a tool, so an action must be given. */
async function callOf(
  holder: Principal,
  permission: string,
  { kind, id, projectId }: Resource,
  { action, ...question }: Question,
  context: Context,
): Promise<CheckedCall> {
  if (action === undefined) {
    const [unused] = Object.entries(question).find(([, value]) => value !== undefined) ?? []
    if (unused === undefined) return noCall
    throw invalid(unused, 'needs an action: also send "action"')
  }
  if (permission !== 'tools:CallTool' || kind !== 'tool') {
    throw invalid('action', 'can only be checked with the permission tools:CallTool and a tool as the resource')
  }
  const checked = await checkCall(holder, id, { action, ...question }, context)
  if (projectId === null || projectId === checked.tool?.projectId) return checked
  throw invalid('resource', 'names another project than that of the tool')
}

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })

const kindOf = ({ kind }: Principal) => (kind === 'user' ? 'user' : 'api-key')

/** The key or person that is asked about, if the caller can see it. */
async function findHolder(
  { api_key_id, user_id }: { readonly api_key_id?: string | undefined; readonly user_id?: string | undefined },
  { principal, store }: Context,
): Promise<Principal> {
  if ((api_key_id === undefined) === (user_id === undefined)) {
    const fault = { path: 'api_key_id', message: 'send either api_key_id or user_id' }
    throw new PlatformError('VALIDATION_FAILED', { errors: [fault] })
  }
  const isPerson = user_id !== undefined
  const id = user_id ?? (api_key_id as string)
  const found = isPerson ? await store.users.find(id) : await store.apiKeys.find(id)
  const reads = isPerson ? 'users:GetUser' : 'api-keys:GetApiKey'
  const kind = isPerson ? 'user' : 'api-key'
  if (!found || !evaluate(principal, reads, { projectId: found.project_id, kind, id }).allowed) {
    throw new PlatformError('RESOURCE_NOT_FOUND', { kind, id })
  }
  const policies = await store.accessPolicies.findMany(found.access_policy_ids)
  return {
    ...(found.modes.length > 0 && { modes: found.modes }),
    ...{ kind: isPerson ? 'user' : 'api_key', id, name: found.name, projectId: found.project_id },
    ...{ rateLimit: null, expiresAt: null, endUserId: isPerson ? id : null },
    grants: policies.map((policy) => ({ policyId: policy.id, statements: policy.document.statement })),
  }
}

function read(resource: string): Resource {
  const [, project = '*', kind = '', ...rest] = resource.split(':')
  const id = rest.join(':')
  return { projectId: project === '*' ? null : project, kind, id, ...(id.startsWith('/') && { path: id }) }
}

function unknownPermission(permission: string, permissions: ReadonlySet<string>): PlatformError {
  const hint = orDidYouMean(permission, [...permissions])
  return new PlatformError('VALIDATION_FAILED', {
    errors: [{ path: 'permission', message: `there is no permission "${permission}"${hint}` }],
  })
}
