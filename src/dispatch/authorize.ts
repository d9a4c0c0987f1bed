import { evaluate, isDenied, type Resource, resourceName } from '../access/evaluate.ts'
import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { AuthorizedCall, ResolvedCall } from './call.ts'
import { type NamedMode, requireModes } from './mode.ts'

const permission = 'tools:CallTool'

export const toolResource = (tool: { readonly id: string; readonly project_id?: string | null }): Resource => ({
  projectId: tool.project_id ?? null,
  kind: 'tool',
  id: tool.id,
})

/**
 * Checks that the principal may call the tool; the error names the layer that denied it. Withheld actions are rejected here,
 * before validation, so that input is never validated against a schema that is not accepted.
 */
export function authorize(resolved: ResolvedCall, named: readonly NamedMode[]): AuthorizedCall {
  const authorized = allowed(resolved)
  const { entry, prepared } = authorized
  const modes = requireModes(named, resolved)
  if (prepared.withheld)
    throw new PlatformError('ACTION_WITHHELD', { action: prepared.action.id, tool_id: entry.tool.id })
  return modes.length > 0 ? { ...authorized, modes } : authorized
}

function allowed(resolved: ResolvedCall): AuthorizedCall {
  const { principal, entry, viaAgent, generation } = resolved
  if (viaAgent && generation && !isDenied(principal, permission, toolResource(entry.tool))) {
    return { ...resolved, allowedBy: generation.agentId }
  }
  return { ...resolved, allowedBy: requireCall(principal, entry.tool) }
}

/** Returns the id of the access policy that allows the call. Throws if none does. */
export function requireCall(principal: Principal, tool: ToolRecord): string {
  const resource = toolResource(tool)
  const decision = evaluate(principal, permission, resource)
  if (decision.allowed) return decision.by
  throw new PlatformError('FORBIDDEN', { permission, layer: decision.layer, resource: resourceName(resource) })
}
