import { z } from 'zod'
import type { Json, JsonObject } from '../lib/json.ts'
import { ApprovalSeconds } from './approval.ts'
import { Text, Timestamp } from './page.ts'

/** A name that every model provider accepts. */
export const ToolName = z
  .string()
  .regex(
    /^[A-Za-z0-9_-]{1,64}$/,
    'must be 1 to 64 letters, digits, "_" or "-", so that every model provider accepts it',
  )

export const Headers = z.record(
  z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a valid header name'),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that HTTP forbids in a header
  z.string().regex(/^[^\0-\x08\x0a-\x1f\x7f]*$/, 'has a character that is not allowed in a header'),
)

export const Level = z.enum(['open', 'restricted', 'administrative'])
export type Level = z.infer<typeof Level>

/** The more sensitive of two levels. */
export const higherLevel = (one: Level, other: Level): Level =>
  Level.options.indexOf(one) >= Level.options.indexOf(other) ? one : other

const AnyObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  {
    error: 'must be an object',
  },
)

/** Also accepts JSON text, which the command line sends. Other text stays as it is, and fails validation by its type. */
export const orJsonText = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => {
    if (typeof value !== 'string') return value
    try {
      return JSON.parse(value)
    } catch {
      return value
    }
  }, schema)

/** An object with any fields, or its JSON text. */
export const jsonObject = (description: string) => orJsonText(AnyObject).meta({ type: 'object', description })

/** What is set for one action of a tool. What is missing comes from the tool and from the definition of the action. */
export const ActionSettings = z.strictObject({
  level: Level.optional().describe('Its level, whatever the tool and its definition say'),
  auto_approve: z.boolean().optional().describe('Whether its calls run without approval'),
  enabled: z.boolean().optional().describe('If false, the action cannot be seen or called'),
})
export type ActionSettings = z.infer<typeof ActionSettings>

export const SettingsByAction = orJsonText(z.record(z.string().min(1).max(200), ActionSettings)).refine(
  (settings) => Object.keys(settings).length <= 1000,
  'has more than 1000 actions',
)

/** The fields of a tool of any type. Type-specific fields are added to these. */
export const ToolFields = {
  name: ToolName.describe('The name a model sees, or the prefix of its action names; unique within the app'),
  description: Text.max(20_000).nullable().describe('Tells the model what the tool does and when to use it'),
  preset_parameters: jsonObject('Fixed arguments: hidden from the caller, and they override what it sends').nullable(),
  app: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9_-]{0,63}$/,
      'must be a slug: 1 to 64 lowercase letters, digits, "_" or "-", starting with a letter or digit',
    )
    .nullable()
    .describe('The app (a namespace) that its actions belong to'),
  pin_definitions: z
    .boolean()
    .describe('Block an action of an MCP server whose definition changes until you accept the change'),
  level: Level.describe(
    'Sensitivity. Above open, calls need approval unless auto_approve is set. Platform actions on API keys, access policies, projects, secrets and connections are always administrative',
  ),
  auto_approve: z.boolean().nullable().describe('If true, calls run without approval'),
  timeout_seconds: z.number().positive().max(3600).nullable().describe('Timeout of a call; defaults to 60'),
  ask_destructive: z
    .boolean()
    .describe(
      'Require approval for destructive actions. An action of an MCP server counts as destructive unless the server declares it read-only or non-destructive',
    ),
  approval_timeout_seconds: ApprovalSeconds.nullable().describe('Time to decide on an approval'),
  action_settings: SettingsByAction.nullable().describe(
    'Level, approval and availability of single actions, by name; "*" is for all actions that are not listed',
  ),
}

/** A registered tool without its type-specific fields. It has one action or many. */
export const Tool = z.object({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  type: z.string(),
  description: z.string().nullable(),
  preset_parameters: z.custom<JsonObject>().meta({ type: 'object' }).nullable(),
  app: z.string().describe('The app (a namespace) that the tool’s actions belong to'),
  pin_definitions: z.boolean(),
  level: Level,
  auto_approve: z.boolean().describe('If false, every call needs approval'),
  timeout_seconds: z.number().nullable(),
  ask_destructive: z.boolean(),
  approval_timeout_seconds: z.number().nullable(),
  action_settings: z.record(z.string(), ActionSettings).nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
/** Includes the fields of all types. Those of other types are null. */
export type Tool = z.infer<typeof Tool> & Readonly<Record<string, unknown>>

/** The complete definition of a tool. An update is validated as if the result were being created. */
export interface ToolDraft<Config extends object = object> {
  readonly name: string
  readonly type: string
  /** The alias of the type that the caller used, such as `soat` for `platform`. Returned as it was sent. */
  readonly type_alias?: string | null
  readonly description: string | null
  /** The type-specific fields, as in the schema of the type. */
  readonly config: Config
  /** Whether tools of the type have many actions. Stored, because unique names depend on it. */
  readonly many_actions: boolean
  readonly preset_parameters: JsonObject | null
  readonly app: string | null
  readonly pin_definitions: boolean
  readonly level: Level
  readonly auto_approve: boolean | null
  readonly timeout_seconds: number | null
  readonly ask_destructive: boolean
  readonly approval_timeout_seconds: number | null
  readonly action_settings?: Readonly<Record<string, ActionSettings>> | null
}

/** An action of a tool: the unit that callers call. */
export interface Action {
  /** `namespace:name`, the same on every surface. */
  readonly id: string
  readonly namespace: string
  readonly name: string
  readonly app: string
  readonly description: string | null
  /** The JSON Schema of the whole input, including presets. Callers see `publicSchema`. */
  readonly schema: JsonObject
  /** The schema before it was reduced, if it was. */
  readonly wholeSchema?: () => JsonObject
  /** What is known about the output. It is never enforced. */
  readonly outputSchema?: JsonObject
  readonly level: Level
  readonly autoApprove: boolean
  /** What is set for the action or its tool about approval; null if its level decides. */
  readonly approvalSetting: boolean | null
  /** Repeating a call has no further effect, so a call with an unknown outcome may be retried. */
  readonly idempotent: boolean
  /** The action may change or delete existing data. Also true if it is not declared otherwise. */
  readonly destructive: boolean
  /** Whether the action is known to change nothing. */
  readonly readOnly?: boolean
  /** Whether a call that is made again under its id continues instead of starting again. */
  readonly resumable?: boolean
  /** Aliases of input fields, such as `document_id` for `id`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** The definition of an upstream MCP server, for MCP clients: title, annotations, output schema. */
  readonly definition?: JsonObject
  /** Set if this is not a tool of an MCP server, but a method of the protocol such as `prompts/get`. */
  readonly method?: 'prompts/get' | 'resources/read' | 'completion/complete'
}

/** The output of an action: the value, and its JSON text, which is returned and recorded. */
export interface Output {
  readonly value: Json
  readonly text: string
  /** `mcp` if the value is the full result of an MCP tool, to be passed on unchanged. */
  readonly shape: 'json' | 'mcp'
  /** The tool ran and reported an error itself. */
  readonly failed: boolean
  /** Tells the model what the output does not contain, such as how to get the next page. */
  readonly note?: string
}

export const done = (value: Json, text: string = JSON.stringify(value)): Output => ({
  value,
  text,
  shape: 'json',
  failed: false,
})
