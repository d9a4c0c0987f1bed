import { PlatformError } from '../model/errors.ts'
import { type Mode, objectionOf, wantsSignIn } from '../model/mode.ts'
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
    const isPerson = principal.signedInAt !== undefined
    throw new PlatformError('SIGN_IN_REQUIRED', { action: action.id, mode: mode.slug, seconds, isPerson })
  }
}
