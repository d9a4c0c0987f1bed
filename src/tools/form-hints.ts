import { z } from 'zod'

/** Optional hints for the form in the dashboard, which JSON Schema cannot express. */
export interface FormHints {
  /**
   * `lines`: a list of texts, one per line. `schema`: an editor for a JSON Schema. `platform-actions`: operations of the
   * platform to choose from.
   */
  readonly control?: 'lines' | 'schema' | 'platform-actions'
  readonly placeholder?: string
  /** The label of the button that adds a name and a value. */
  readonly add?: string
  /** The initial value in the form of a new tool, if it differs from the default. */
  readonly initial?: unknown
  /** The rows of the form, each with the fields in it. By default, each field has its own row. */
  readonly rows?: readonly (readonly string[])[]
  /** Whether the field comes after all others. */
  readonly last?: true
  /** Groups of fields of which only one can be used. */
  readonly variants?: {
    readonly title: string
    readonly options: readonly {
      readonly title: string
      readonly fields: readonly string[]
      readonly required?: readonly string[]
    }[]
  }
}

/** Used as `schema.register(formHints, { … })`. Only the response of `list-tool-types` contains the hints, as `x-form`. */
export const formHints = z.registry<FormHints>()
