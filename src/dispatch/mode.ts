import { PlatformError } from '../model/errors.ts'
import { type Mode, modeNamesOf, objectionOf, wantsSignIn } from '../model/mode.ts'
import type { Principal } from '../model/principal.ts'
import type { Server } from '../model/server.ts'
import type { Action } from '../model/tool.ts'
import type { ResolvedCall } from './call.ts'
import type { DispatchDeps } from './deps.ts'

/** The modes of a call. A mode that was deleted allows nothing. */
export const findModes = (
  names: readonly string[],
  { entry, prepared }: ResolvedCall,
  { modes }: Pick<DispatchDeps, 'modes'>,
): Promise<readonly Mode[]> =>
  Promise.all(
    names.map(async (name) => {
      const mode = await modes.named(entry.tool.project_id, name)
      if (mode) return mode
      const reason = 'the project has no such mode'
      throw new PlatformError('MODE_RESTRICTED', { action: prepared.action.id, mode: name, reason })
    }),
  )

/** Each of the modes must allow the call. */
export function requireModes(modes: readonly Mode[], { prepared: { action }, server, principal }: ResolvedCall): void {
  for (const mode of modes) {
    const reason = objectionOf(mode, action, server?.slug)
    if (reason) throw new PlatformError('MODE_RESTRICTED', { action: action.id, mode: mode.slug, reason })
    if (!wantsSignIn(mode, action.level, principal)) continue
    const seconds = mode.sign_in_within_seconds as number
    const is_person = principal.signedInAt !== undefined
    throw new PlatformError('SIGN_IN_REQUIRED', { action: action.id, mode: mode.slug, seconds, is_person })
  }
}

/**
 * Which actions of a server the modes of a principal allow, for lists; undefined without a mode. Calls are checked again, and
 * say why they are refused.
 */
export async function modeFilter(
  principal: Principal,
  { slug, project_id }: Pick<Server, 'slug' | 'project_id'>,
  modes: Pick<DispatchDeps['modes'], 'named'>,
): Promise<((action: Action) => boolean) | undefined> {
  const names = modeNamesOf(principal)
  if (names.length === 0) return undefined
  const found = await Promise.all(names.map((name) => modes.named(project_id, name)))
  return (action) => found.every((mode) => mode !== undefined && objectionOf(mode, action, slug) === undefined)
}
