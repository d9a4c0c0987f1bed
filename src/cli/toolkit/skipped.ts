import { note } from './io.ts'

/** Prints a note if an import skipped everything, because the response alone looks like a success. */
export function noteIfAllSkipped(answer: unknown): void {
  const { created, updated = [], skipped } = (answer ?? {}) as Partial<Record<string, unknown>>
  if (!Array.isArray(created) || !Array.isArray(updated) || !Array.isArray(skipped)) return
  if (created.length + updated.length > 0 || skipped.length === 0) return
  const all = skipped.length === 1 ? 'The only entry was' : `All ${skipped.length} entries were`
  note(`Nothing was imported. ${all} skipped; see the ${skipped.length === 1 ? 'reason' : 'reasons'} above.`)
}
