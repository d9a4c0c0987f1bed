import type { NewTool, Tool, ToolType } from '../../api.ts'
import type { Schema } from '../../schema-form/schema.ts'
import { cleaned, type Fields, hintsOf, startConfig } from './config.ts'

/** A tool as edited in the form. */
export interface Draft {
  readonly name: string
  readonly type: string
  readonly description: string
  readonly app: string
  readonly level: Tool['level']
  readonly approval: 'level' | 'never' | 'always'
  readonly asksDestructive: boolean
  /** Approval timeout in seconds. */
  readonly decideIn: string
  readonly timeout: string
  readonly pinned: boolean
  /** The fields of its type. */
  readonly config: Fields
  /** Undefined while the text is not valid JSON. */
  readonly presets: unknown
  readonly perAction: unknown
}

export const schemaOf = (type: ToolType): Schema => type.config as Schema

export const emptyDraft = (type: ToolType): Draft => ({
  name: '',
  type: type.type,
  description: '',
  app: '',
  level: 'open',
  approval: 'level',
  asksDestructive: false,
  decideIn: '',
  timeout: '',
  pinned: false,
  config: startConfig(schemaOf(type)),
  presets: null,
  perAction: null,
})

export const draftOf = (tool: Tool, type: ToolType | undefined): Draft => ({
  name: tool.name,
  type: tool.type,
  description: tool.description ?? '',
  app: tool.app === (type?.many_actions ? tool.name.toLowerCase() : 'tools') ? '' : tool.app,
  level: tool.level,
  approval: tool.auto_approve === (tool.level === 'open') ? 'level' : tool.auto_approve ? 'never' : 'always',
  asksDestructive: tool.ask_destructive,
  decideIn: tool.approval_timeout_seconds === null ? '' : String(tool.approval_timeout_seconds),
  timeout: tool.timeout_seconds === null ? '' : String(tool.timeout_seconds),
  pinned: tool.pin_definitions,
  config: Object.fromEntries(
    fieldsOf(type).flatMap((name) => {
      const value = (tool as unknown as Fields)[name] ?? undefined
      return value === undefined ? [] : [[name, value]]
    }),
  ),
  presets: tool.preset_parameters,
  perAction: tool.action_settings,
})

const fieldsOf = (type: ToolType | undefined) => Object.keys((type && schemaOf(type).properties) ?? {})

/** Whether a JSON field holds text that is not valid JSON yet. */
export const isUnreadable = ({ config, presets, perAction }: Draft, type: ToolType | undefined): boolean =>
  presets === undefined ||
  perAction === undefined ||
  Object.entries((type && schemaOf(type).properties) ?? {}).some(
    ([name, schema]) => hintsOf(schema).control === 'schema' && config[name] === undefined,
  )

/** The request body. If the platform does not have the type, the fields of the type are omitted, so they stay unchanged. */
export function bodyOf(draft: Draft, type: ToolType | undefined): NewTool {
  const config = type ? (cleaned(schemaOf(type), draft.config) as Fields) : {}
  const common = {
    name: draft.name.trim(),
    type: draft.type,
    description: draft.description.trim() || null,
    app: draft.app.trim() || null,
    level: draft.level,
    auto_approve: draft.approval === 'level' ? null : draft.approval === 'never',
    ask_destructive: draft.asksDestructive,
    approval_timeout_seconds: draft.decideIn.trim() === '' ? null : Number(draft.decideIn),
    timeout_seconds: draft.timeout.trim() === '' ? null : Number(draft.timeout),
    preset_parameters: draft.presets ?? null,
    action_settings: draft.perAction ?? null,
    ...(type?.remote_actions && { pin_definitions: draft.pinned }),
    ...Object.fromEntries(fieldsOf(type).map((name) => [name, config[name] ?? null])),
  }
  return common as NewTool
}
