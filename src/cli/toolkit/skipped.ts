import { note } from './terminal.ts'

/** Says in words that an import took over nothing of what it was given: the answer alone looks like a success. */
export function noteIfAllSkipped(answer: unknown): void {
  const { created, updated = [], skipped } = (answer ?? {}) as Partial<Record<string, unknown>>
  if (!Array.isArray(created) || !Array.isArray(updated) || !Array.isArray(skipped)) return
  if (created.length + updated.length > 0 || skipped.length === 0) return
  const all = skipped.length === 1 ? 'the only entry was' : `all ${skipped.length} entries were`
  note(`Nothing was taken over: ${all} skipped, for the ${skipped.length === 1 ? 'reason' : 'reasons'} given.`)
}
