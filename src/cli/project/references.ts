import type { Project } from './file.ts'
import { type Fields, type Kind, kinds } from './kinds.ts'

/** A reference from an entry of the file to a record. */
export interface Reference {
  /** `agents.helper.tools.0`, in parts. */
  readonly place: readonly (string | number)[]
  readonly section: string
  readonly wanted: string
  /** The field that takes names, if the field that was used takes only ids. */
  readonly byName?: string
}

/** All references in the file: by name, as in `tools: [get-weather]`, or by id, as in `tool_ids: [tool_…]`. */
export const referencesOf = (project: Project): Reference[] =>
  kinds.flatMap((kind) =>
    [...(project.sections.get(kind.section) ?? [])].flatMap(([name, fields]) => referencesIn(kind, name, fields)),
  )

function referencesIn(kind: Kind, name: string, fields: Fields): Reference[] {
  return Object.entries(kind.references).flatMap(([key, { field, section }]) => {
    const written = (used: string, byName?: string) =>
      textsIn(fields[used]).map(({ at, text }) => ({
        place: [kind.section, name, used, ...at],
        section,
        wanted: text,
        ...(byName && { byName }),
      }))
    return [...written(key), ...written(field, key)]
  })
}

/** Values that are not text are left to the schema. */
function textsIn(value: unknown): { at: number[]; text: string }[] {
  if (typeof value === 'string') return [{ at: [], text: value }]
  if (!Array.isArray(value)) return []
  return value.flatMap((text, at) => (typeof text === 'string' ? [{ at: [at], text }] : []))
}

/** Whether the file contains the record. */
export const isInFile = (project: Project, { section, wanted, byName }: Reference): boolean =>
  byName === undefined && (project.sections.get(section)?.has(wanted) ?? false)
