import { PlatformError } from '../model/errors.ts'
import { type Mode, modeNamesOf, objectionOf, wantsSignIn } from '../model/mode.ts'
import type { Principal } from '../model/principal.ts'
import type { Server } from '../model/server.ts'
import type { Action } from '../model/tool.ts'
import type { ResolvedCall } from './call.ts'
import type { DispatchDeps } from './deps.ts'

type Store = Pick<DispatchDeps['modes'], 'named'>

/** A mode that was deleted has no record. */
export interface NamedMode {
  readonly name: string
  readonly mode: Mode | undefined
}

export const findModes = (names: readonly string[], projectId: string, modes: Store): Promise<readonly NamedMode[]> =>
  Promise.all(names.map(async (name) => ({ name, mode: await modes.named(projectId, name) })))

/** The first mode that does not allow an action, and why. Each of the modes must allow it; undefined if they do. */
export function modeObjection(
  modes: readonly NamedMode[],
  action: Action,
  server: Pick<Server, 'slug'> | undefined,
): { readonly name: string; readonly reason: string } | undefined {
  for (const { name, mode } of modes) {
    const reason = mode ? objectionOf(mode, action, server?.slug) : 'the project has no such mode'
    if (reason !== undefined) return { name, reason }
  }
  return undefined
}

/** The modes of a call, if all of them allow it. */
export function requireModes(
  named: readonly NamedMode[],
  { prepared: { action }, server, principal }: ResolvedCall,
): readonly Mode[] {
  const objection = modeObjection(named, action, server)
  if (objection) {
    const { name, reason } = objection
    throw new PlatformError('MODE_RESTRICTED', { action: action.id, mode: name, reason })
  }
  const modes = named.flatMap(({ mode }) => mode ?? [])
  for (const mode of modes) {
    if (!wantsSignIn(mode, action.level, principal)) continue
    const seconds = mode.sign_in_within_seconds as number
    const is_person = principal.signedInAt !== undefined
    throw new PlatformError('SIGN_IN_REQUIRED', { action: action.id, mode: mode.slug, seconds, is_person })
  }
  return modes
}

/**
 * Which actions of a server the modes of a principal allow, for lists; undefined without a mode. Calls are checked again, and
 * say why they are refused.
 */
export async function modeFilter(
  principal: Principal,
  server: Pick<Server, 'slug' | 'project_id'>,
  modes: Store,
): Promise<((action: Action) => boolean) | undefined> {
  const names = modeNamesOf(principal)
  if (names.length === 0) return undefined
  const found = await findModes(names, server.project_id, modes)
  return (action) => modeObjection(found, action, server) === undefined
}
