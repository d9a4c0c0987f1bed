import { PlatformError } from '../model/errors.ts'
import { type Context, requireAllowed } from './operation.ts'

type Granting = Pick<Context, 'principal' | 'store'>

/** A mode can stand for an approval, so you need a permission to give it away, unless it is one of your own. */
export async function requireMode(slug: string, projectId: string, { principal, store }: Granting): Promise<void> {
  const found = await store.modes.named(projectId, slug)
  if (!found) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'mode', id: slug })
  if (principal.modes?.includes(slug)) return
  requireAllowed(principal, 'modes:UseMode', { projectId, kind: 'mode', id: found.id })
}

/** Removing a mode can widen what calls can do, so it needs the same permission. A mode that was deleted can be removed. */
export async function requireModeChange(
  before: string | null,
  after: string | null,
  projectId: string,
  granting: Granting,
): Promise<void> {
  if (before === after) return
  if (before !== null && (await granting.store.modes.named(projectId, before))) {
    await requireMode(before, projectId, granting)
  }
  if (after !== null) await requireMode(after, projectId, granting)
}

/** The modes of a key or person. One with modes creates others with these only. */
export async function requireModes(
  modes: readonly string[],
  projectId: string | null,
  { principal, store }: Granting,
  before: readonly string[] = [],
): Promise<void> {
  const own = principal.modes
  const wrong = own && (modes.length === 0 || modes.some((slug) => !own.includes(slug)))
  if (wrong) {
    const message = `must be among your own modes: ${own.join(', ')}`
    throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'modes', message }] })
  }
  const added = modes.filter((slug) => !before.includes(slug))
  const changed = [...added, ...before.filter((slug) => !modes.includes(slug))]
  const scope = projectId ?? (changed.length > 0 ? (await store.projects.findOnly())?.id : undefined)
  for (const slug of changed) {
    const found = scope === undefined ? undefined : await store.modes.named(scope, slug)
    if (!found && projectId !== null && added.includes(slug)) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'mode', id: slug })
    }
    requireAllowed(principal, 'modes:UseMode', { projectId: scope ?? null, kind: 'mode', id: found?.id ?? '*' })
  }
}
