import { PlatformError } from '../model/errors.ts'
import { type Mode, modeNameOf, objectionOf } from '../model/mode.ts'
import type { ResolvedCall } from './call.ts'
import type { DispatchDeps } from './deps.ts'

/** The mode of a call. A mode that was deleted allows nothing. */
export async function modeOf({ principal, entry, prepared }: ResolvedCall, deps: DispatchDeps): Promise<Mode> {
  const name = modeNameOf(principal) ?? ''
  const mode = await deps.modes.named(entry.tool.project_id, name)
  if (mode) return mode
  const reason = 'the project has no such mode'
  throw new PlatformError('MODE_RESTRICTED', { action: prepared.action.id, mode: name, reason })
}

export function requireMode(mode: Mode, { prepared: { action }, server }: ResolvedCall): void {
  const reason = objectionOf(mode, action, server?.slug)
  if (reason) throw new PlatformError('MODE_RESTRICTED', { action: action.id, mode: mode.slug, reason })
}
