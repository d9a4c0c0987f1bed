import { evaluate, isDenied, type Resource, resourceName } from '../access/evaluate.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { Authorized, Resolved } from './call.ts'

const permission = 'tools:CallTool'

export const toolResource = (tool: { readonly id: string; readonly project_id?: string | null }): Resource => ({
  projectId: tool.project_id ?? null,
  kind: 'tool',
  id: tool.id,
})

/**
 * Who may call what. The first "no" names its layer. What nobody has accepted is called by nobody, and its input is not
 * judged by a schema that nobody has accepted either.
 */
export function authorize(resolved: Resolved): Authorized {
  const authorized = allowed(resolved)
  const { entry, offer } = authorized
  if (offer.withheld) throw new PlatformError('ACTION_WITHHELD', { action: offer.action.id, tool_id: entry.tool.id })
  return authorized
}

function allowed(resolved: Resolved): Authorized {
  const { principal, entry, lent, generation } = resolved
  if (lent && generation && !isDenied(principal, permission, toolResource(entry.tool))) {
    return { ...resolved, allowedBy: generation.agentId }
  }
  return { ...resolved, allowedBy: requireCall(principal, entry.tool) }
}

/** The access policy that allows it; throws if none does. */
export function requireCall(principal: Principal, tool: ToolRecord): string {
  const resource = toolResource(tool)
  const decision = evaluate(principal, permission, resource)
  if (decision.allowed) return decision.by
  throw new PlatformError('FORBIDDEN', { permission, layer: decision.layer, resource: resourceName(resource) })
}
