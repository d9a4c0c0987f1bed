import { z } from 'zod'
import { evaluate, type Resource } from '../access/evaluate.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import { Id } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import { apiKey } from './api-keys.ts'
import { operation, requireAllowed } from './operation.ts'

export const checkAccess = operation({
  name: 'check-access',
  permission: 'access-policies:CheckAccess',
  route: 'POST /access/check',
  summary: 'Check whether a key is allowed to do something, and which policy decides',
  example: { api_key_id: 'key_environment', permission: 'tools:CallTool', resource: 'qm:*:tool:tool_1' },
  input: z.strictObject({
    api_key_id: Id,
    permission: z.string().min(1).max(200).describe('Such as tools:CallTool'),
    resource: z
      .string()
      .max(1000)
      .regex(/^qm:[^:]+:[a-z-]+:.+$/, 'must be "qm:<project>:<kind>:<id>", where * means none or any')
      .describe(
        'qm:<project>:<kind>:<id>. Use * as the project for resources without one, and * as the id for a new resource',
      ),
  }),
  output: z.object({
    allowed: z.boolean(),
    layer: z.enum(['project', 'access policy', 'agent boundary']).describe('The check that decided'),
    access_policy_id: z.string().nullable().describe('The access policy that decided; null if none applies'),
    reason: z.string(),
  }),
  async run({ api_key_id: id, permission, resource }, { principal, store, permissions }) {
    const key = await store.apiKeys.find(id)
    const isSeen = key && evaluate(principal, 'api-keys:GetApiKey', apiKey.resource(key)).allowed
    if (!key || !isSeen) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'api-key', id })
    requireAllowed(principal, 'access-policies:CheckAccess', apiKey.resource(key))
    if (!permissions.has(permission)) throw unknownPermission(permission, permissions)
    const policies = await store.accessPolicies.findMany(key.access_policy_ids)
    const holder: Principal = {
      kind: 'api_key',
      id: key.id,
      name: key.name,
      projectId: key.project_id,
      rateLimit: null,
      expiresAt: null,
      endUserId: null,
      grants: policies.map((policy) => ({ policyId: policy.id, statements: policy.document.statement })),
    }
    const decision = evaluate(holder, permission, read(resource))
    const nameOf = (policyId: string) => policies.find((policy) => policy.id === policyId)?.name ?? policyId
    if (decision.allowed) {
      const reason = `"${nameOf(decision.by)}" allows it.`
      return { allowed: true, layer: 'access policy' as const, access_policy_id: decision.by, reason }
    }
    const { layer, by } = decision
    const policyReason = by ? `"${nameOf(by)}" denies it.` : 'No access policy of the key allows it.'
    const reason = layer === 'project' ? 'The key is bound to another project.' : policyReason
    return { allowed: false, layer, access_policy_id: by ?? null, reason }
  },
})

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
