import { evaluate } from '../access/evaluate.ts'
import { PlatformError } from '../model/errors.ts'
import { accessPolicy } from './access-policies.ts'
import type { Context } from './operation.ts'

/** Keys and people inherit every Deny of their creator. Otherwise a new key would be a way around it. */
export function requireDenials(ids: readonly string[], { principal }: Context): void {
  if (ids.length === 0) return
  const missing = principal.grants.find(
    ({ policyId, statements }) => !ids.includes(policyId) && statements.some(({ effect }) => effect === 'Deny'),
  )
  if (!missing) return
  throw new PlatformError('FORBIDDEN', {
    permission: 'access-policies:AttachAccessPolicy',
    layer: 'access policy',
    resource: `qm:*:access-policy:${missing.policyId}`,
    reason: `"${missing.policyId}" restricts you, so every key and person that you give access must have it as well.`,
  })
}

/**
 * Prevents privilege escalation: you can grant a policy only if you have it or can attach it. The policy must belong
 * to the project of the key or person, or to no project.
 */
export async function requireGrantable(
  ids: readonly string[],
  projectId: string | null,
  { principal, store }: Context,
): Promise<void> {
  const found = new Map((await store.accessPolicies.findMany(ids)).map((policy) => [policy.id, policy]))
  const errors = ids.flatMap((id, index) => {
    const policy = found.get(id)
    const fits = policy && (policy.project_id === null || policy.project_id === projectId)
    return fits ? [] : [{ path: `access_policy_ids[${index}]`, message: `there is no access policy "${id}" here` }]
  })
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })

  const permission = 'access-policies:AttachAccessPolicy'
  for (const policy of found.values()) {
    const holds = principal.grants.some(({ policyId }) => policyId === policy.id)
    // A policy without a project is checked as if it belonged to the caller's project.
    const resource = {
      ...accessPolicy.resource(policy),
      ...(policy.project_id === null && { projectId: principal.projectId }),
    }
    if (!holds && !evaluate(principal, permission, resource).allowed) {
      throw new PlatformError('FORBIDDEN', {
        permission,
        layer: 'access policy',
        resource: `qm:${policy.project_id ?? '*'}:access-policy:${policy.id}`,
        reason: `You can only grant access policies that you have, and you do not have "${policy.id}".`,
      })
    }
  }
}

/** People have neither limit, so a limited key could escape its own limits as a person. */
export function requireUnlimited({ principal: { rateLimit, expiresAt } }: Context, permission: string): void {
  if (rateLimit === null && expiresAt === null) return
  throw new PlatformError('FORBIDDEN', {
    permission,
    layer: 'access policy',
    resource: 'qm:*:user:*',
    reason: 'Your key has a rate limit or an expiry date, and people have neither. Use a key without limits.',
  })
}
