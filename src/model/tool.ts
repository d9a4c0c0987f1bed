import { z } from 'zod'
import type { Json, JsonObject } from '../lib/json.ts'
import { ApprovalSeconds } from './approval.ts'
import { Text, Timestamp } from './page.ts'

/** A name every model provider takes. */
export const ToolName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-", so that every model provider takes it')

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export const Headers = z.record(
  z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a header name'),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that HTTP forbids in a header
  z.string().regex(/^[^\0-\x08\x0a-\x1f\x7f]*$/, 'has a character that a header cannot hold'),
)

/** How the call of an http tool becomes a request. */
export const Execute = z.strictObject({
  url: z
    .string()
    .min(1)
    .max(8192)
    .describe('Where to send the request; {name} is replaced by the argument of that name'),
  method: z
    .preprocess((value) => (typeof value === 'string' ? value.toUpperCase() : value), z.enum(methods))
    .default('POST')
    .meta({ default: 'POST' }),
  headers: Headers.optional(),
})
export type Execute = z.infer<typeof Execute>

/** Where an MCP server is: an address, or a program of this machine. */
export const McpAddress = z
  .strictObject({
    url: z
      .string()
      .max(8192)
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https address')
      .optional()
      .describe('Where the server listens, with Streamable HTTP or SSE'),
    headers: Headers.optional().describe('Sent with every request to it'),
    command: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe('A program that speaks MCP on its standard input and output'),
    args: z.array(z.string().max(8192)).max(200).optional(),
    env: z.record(z.string().min(1).max(256), z.string().max(32_768)).optional(),
    cwd: z.string().min(1).max(4096).optional(),
    required: z
      .boolean()
      .optional()
      .describe(
        'Whether the platform does not start where the server cannot be reached; it is contacted at each start',
      ),
  })
  .refine(({ url, command }) => (url === undefined) !== (command === undefined), 'must have either "url" or "command"')
  .refine(
    ({ url, args, env, cwd }) => url === undefined || !(args ?? env ?? cwd),
    'has fields of a program beside a "url"',
  )
export type McpAddress = z.infer<typeof McpAddress>

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

/** The command line sends objects as JSON text; text that is not JSON stays text and is then refused for its type. */
export const orJsonText = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => {
    if (typeof value !== 'string') return value
    try {
      return JSON.parse(value)
    } catch {
      return value
    }
  }, schema)

/** An object of any fields, or the JSON text of one. */
export const jsonObject = (description: string) => orJsonText(AnyObject).meta({ type: 'object', description })

/** What a caller sets on a tool. Which of them a type needs is that type's to say. */
export const ToolFields = {
  name: ToolName.describe('The name a model sees, or the prefix of its actions’ names; unique within the app'),
  description: Text.max(20_000).nullable().describe('What a model decides by'),
  parameters: jsonObject('JSON Schema of the input').nullable(),
  execute: orJsonText(Execute).nullable().describe('How an http tool makes its request'),
  mcp: orJsonText(McpAddress).nullable().describe('The server that an mcp tool stands for'),
  actions: orJsonText(z.array(z.string().min(1).max(200)).max(1000))
    .nullable()
    .describe('Which of the platform’s actions a platform tool offers'),
  preset_parameters: jsonObject('Values that are fixed, hidden and always win').nullable(),
  app: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9_-]{0,63}$/,
      'must be a slug: 1 to 64 lower-case letters, digits, "_" or "-", the first of them a letter or digit',
    )
    .nullable()
    .describe('The slug that its actions are filed under'),
  pin_definitions: z
    .boolean()
    .describe('Withhold an action of an MCP server that is described otherwise than before, until that is accepted'),
  level: Level.describe(
    'How sensitive it is; above open, a human decides unless auto_approve is set. Platform actions on API keys, access policies and projects are administrative in any case',
  ),
  auto_approve: z.boolean().nullable().describe('Whether calls run without a human’s decision'),
  timeout_seconds: z.number().positive().max(300).nullable().describe('How long a call may take; 60 unless given'),
  ask_destructive: z
    .boolean()
    .describe(
      'Whether a human decides on each call of an action that may destroy something; of an MCP server’s, every one that it does not call harmless',
    ),
  approval_timeout_seconds: ApprovalSeconds.nullable().describe('How long a human’s decision may take'),
}

/** A registered tool. It yields one action, or many. */
export const Tool = z.object({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  type: z.string(),
  description: z.string().nullable(),
  parameters: z.custom<JsonObject>().meta({ type: 'object' }).nullable(),
  execute: Execute.nullable(),
  mcp: McpAddress.nullable(),
  actions: z.array(z.string()).nullable(),
  preset_parameters: z.custom<JsonObject>().meta({ type: 'object' }).nullable(),
  app: z.string().describe('The slug that the tool’s actions are filed under'),
  pin_definitions: z.boolean(),
  level: Level,
  auto_approve: z.boolean().describe('False: a human decides before each call'),
  timeout_seconds: z.number().nullable(),
  ask_destructive: z.boolean(),
  approval_timeout_seconds: z.number().nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Tool = z.infer<typeof Tool>

/** What a caller said of a tool, whole: an update is checked as if the result had been created. */
export interface ToolDraft {
  readonly name: string
  readonly type: string
  /** The other name of the type that the caller used, as in `soat` for `platform`: callers see the name that they sent. */
  readonly type_alias?: string | null
  readonly description: string | null
  readonly parameters: JsonObject | null
  readonly execute: Execute | null
  readonly mcp: McpAddress | null
  readonly actions: readonly string[] | null
  readonly preset_parameters: JsonObject | null
  readonly app: string | null
  readonly pin_definitions: boolean
  readonly level: Level
  readonly auto_approve: boolean | null
  readonly timeout_seconds: number | null
  readonly ask_destructive: boolean
  readonly approval_timeout_seconds: number | null
}

/** One callable thing. */
export interface Action {
  /** `namespace:name`, the same on every surface. */
  readonly id: string
  readonly namespace: string
  readonly name: string
  readonly app: string
  readonly description: string | null
  /** JSON Schema of the whole input, presets and all. What callers are shown is `shownSchema`. */
  readonly schema: JsonObject
  readonly level: Level
  readonly autoApprove: boolean
  /** A repeat does no further harm, so a call whose outcome is unknown may be repeated. */
  readonly idempotent: boolean
  /** It may change what is there, and not only add to it; so too where nobody said that it does not. */
  readonly destructive: boolean
  /** Other spellings of an input field, as in `document_id` for `id`. */
  readonly aliases?: Readonly<Record<string, string>>
  /** What an MCP server says of it, for those who speak MCP: title, annotations, the schema of its output. */
  readonly definition?: JsonObject
}

/** What an action answered: the value, and the JSON text that is sent on and recorded. */
export interface Output {
  readonly value: Json
  readonly text: string
  /** `mcp` where the value is the result of an MCP tool, content and all, to be passed on untouched. */
  readonly shape: 'json' | 'mcp'
  /** The tool ran, and says itself that it failed. */
  readonly failed: boolean
}

export const done = (value: Json, text: string = JSON.stringify(value)): Output => ({
  value,
  text,
  shape: 'json',
  failed: false,
})
