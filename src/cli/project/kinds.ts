import { readToolReference } from '../../model/tool-reference.ts'

/** A kind of record in a project file: its operations, and the fields that refer to other records. */
export interface Kind {
  /** The section in the file. */
  readonly section: string
  readonly create: string
  readonly list: string
  readonly get: string
  readonly update: string
  readonly remove: string
  /** The field that holds its name. */
  readonly by: 'name' | 'slug'
  /** `tools: [get-weather]` stands for `tool_ids`. */
  readonly references: Readonly<Record<string, { readonly field: string; readonly section: string }>>
  /** Fields that the platform never returns, so that they cannot be compared. */
  readonly secrets: readonly string[]
}

const kind = (noun: string, section: string, more: Partial<Kind> = {}): Kind => ({
  section,
  create: `create-${noun}`,
  list: `list-${noun}s`,
  get: `get-${noun}`,
  update: `update-${noun}`,
  remove: `delete-${noun}`,
  by: 'name',
  references: {},
  secrets: [],
  ...more,
})

/** In the order of creation: a record comes after those that it refers to. */
export const kinds: readonly Kind[] = [
  kind('ai-provider', 'ai_providers', { secrets: ['api_key', 'headers'] }),
  kind('tool', 'tools'),
  kind('skill', 'skills'),
  kind('server', 'servers', { by: 'slug', references: { skills: { field: 'skill_ids', section: 'skills' } } }),
  kind('agent', 'agents', {
    references: {
      ai_provider: { field: 'ai_provider_id', section: 'ai_providers' },
      tools: { field: 'tool_ids', section: 'tools' },
      active_tools: { field: 'active_tool_ids', section: 'tools' },
    },
  }),
]

export type Fields = Record<string, unknown>
export type FindId = (section: string, name: string) => string

/** The fields that the key of an entry sets: `salesforce/create_contact` is the tool's app and name. */
export const identityOf = ({ section, by }: Pick<Kind, 'section' | 'by'>, key: string): Fields =>
  section === 'tools' ? { ...readToolReference(key) } : { [by]: key }

/** The input of the operation, with the name as a field and ids instead of names. */
export function inputOf({ section, by, references }: Kind, name: string, fields: Fields, findId: FindId): Fields {
  const input: Fields = { ...identityOf({ section, by }, name) }
  for (const [key, value] of Object.entries(fields)) {
    const reference = Object.hasOwn(references, key) ? references[key] : undefined
    if (!reference) input[key] = value
    else if (Array.isArray(value)) input[reference.field] = value.map((one) => findId(reference.section, String(one)))
    else input[reference.field] = value === null ? null : findId(reference.section, String(value))
  }
  return input
}
