import { z } from 'zod'
import type { JsonObject } from '../../lib/json.ts'
import { providerTypes } from '../../model/ai-provider.ts'
import { ToolName } from '../../model/tool.ts'

export const schemaVersion = '6.1.1'

const Words = z
  .string()
  .max(50_000)
  .refine((text) => text.trim() !== '', 'must not be empty')
const Slug = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/,
    'must be 1 to 64 letters, digits, "_" or "-", and start with a letter or digit',
  )
const ToolId = z.string().regex(/^[A-Za-z0-9_-]{1,64}:.{1,200}$/, 'must be namespace:name, such as crm:get_account')
const oneOrMany = <T extends z.ZodType>(item: T) => z.union([item, z.array(item).max(200)])

/** A variable that `secrets` declares. */
export const EnvReference = z
  .string()
  .regex(
    /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/,
    'must be a reference such as ${CRM_KEY}, and the variable must be declared in secrets',
  )

const Hostname = z.string().superRefine((text, context) => {
  const wrong = (message: string) => context.addIssue({ code: 'custom', message })
  if (!/^https?:\/\//i.test(text)) return wrong('must start with http:// or https://')
  const url = URL.parse(text)
  if (!url || url.hostname === '') return wrong('is not a valid host')
  const [, rest = ''] = /^https?:\/\/(.*)$/i.exec(text) ?? []
  if (url.username || url.password || rest.includes('@')) return wrong('must not contain a user name or password')
  if (/[?#]/.test(rest)) return wrong('must not contain a query: only the scheme and the host')
  if (rest.includes('/')) return wrong('must not contain a path: only the scheme and the host')
  if (/:\d*$/.test(rest.replace(/^\[[^\]]*\]/, ''))) return wrong('must not contain a port: use the field "port"')
})

const Mcp = z.strictObject({
  id: ToolName.refine((id) => id !== 'built-in', '"built-in" is reserved').describe(
    'The namespace of its tools: cars for cars:search_cars',
  ),
  hostname: Hostname.describe('The host with its scheme: http://cars-mcp'),
  port: z.int().min(1, 'must be from 1 to 65535').max(65_535, 'must be from 1 to 65535'),
  transport: z
    .literal('streamable-http', { error: 'must be streamable-http, the only supported transport' })
    .default('streamable-http'),
  api_key: EnvReference.optional().describe('Sent as Authorization: Bearer'),
})

const Llm = z
  .strictObject({
    provider: z.enum(providerTypes).optional(),
    ai_provider: Words.optional().describe('The name of an AI provider that the project has already'),
    base_url: z
      .string()
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https URL')
      .optional(),
    model: Words.optional(),
    api_key: EnvReference.optional(),
    script: z
      .union([z.string(), z.record(z.string(), z.unknown())])
      .optional()
      .describe('The script of a replay provider'),
    temperature: z.number().min(0).max(2).optional(),
    timeout_seconds: z.number().positive().max(3600).optional(),
    max_retries: z.int().min(0).max(20).optional(),
  })
  .refine(
    ({ provider, ai_provider }) => (provider === undefined) !== (ai_provider === undefined),
    'must have either "provider" or "ai_provider"',
  )

const Policy = z.strictObject({
  id: Slug,
  name: Words.optional(),
  condition: Words.optional().describe('When it applies, in words. Without a condition or "when", it always applies'),
  when: Words.optional().describe('When it applies, as a CEL expression: no model is asked'),
  action: Words.describe('What the agent does'),
  tools: oneOrMany(ToolId).optional(),
  criticality: z
    .preprocess((value) => (typeof value === 'string' ? value.toLowerCase() : value), z.enum(['low', 'medium', 'high']))
    .default('medium'),
  reevaluate_after: oneOrMany(ToolId)
    .optional()
    .describe('Ask again whether it applies once one of these tools has run'),
  in_routine: Slug.optional().describe('Applies only while this routine is active'),
  repeat: z.enum(['always', 'once']).default('always'),
  applies_to: z
    .enum(['turn', 'reply'])
    .default('turn')
    .describe('reply: a reply that goes against it is rewritten before it is sent'),
})

const Transition = z.strictObject({
  to: Slug,
  condition: Words.optional(),
  when: Words.optional(),
})

const SchemaObject = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  { error: 'must be a JSON Schema' },
)

const Node = z.strictObject({
  id: Slug,
  chat_state: Words.optional().describe('What the agent says'),
  tools: oneOrMany(ToolId).optional().describe('The tool to call; the node completes when it has run'),
  tool_instruction: Words.optional().describe('How to derive the arguments'),
  think: Words.optional().describe('What to think about'),
  output_schema: SchemaObject.optional().describe('The result of thinking, as JSON Schema'),
  routing: z.union([z.boolean(), Words]).optional().describe('Only decides where to go next'),
  transitions: z.array(Transition).max(50).default([]),
})

const Routine = z.strictObject({
  id: Slug,
  title: Words,
  conditions: oneOrMany(Words).optional().describe('It starts when any of these holds'),
  when: Words.optional(),
  description: Words.optional(),
  entry: z.string({ error: 'must be the id of one node' }),
  nodes: z.array(Node).min(1).max(200),
  autonomous: z
    .strictObject({
      input_schema: SchemaObject.optional(),
      output_schema: SchemaObject,
      timeout_seconds: z.number().positive().max(86_400).optional(),
      callback_url_allowlist: z.array(Words).max(100).default([]),
      callback_secret: EnvReference.optional().describe(
        'Signs what is posted to the callback URL, as Standard Webhooks does: whsec_ and the key in base64',
      ),
    })
    .optional()
    .describe('It runs without a customer, started by POST /routines/{id}/trigger'),
})

const Reference = z.string().regex(/^(policy|routine):[A-Za-z0-9_-]+$/, 'must be policy:<id> or routine:<id>')

const Priority = z
  .strictObject({
    higher: Reference,
    over: z.array(Reference).min(1).max(200).optional(),
    over_all_routines: z.literal(true).optional(),
  })
  .refine(
    ({ over, over_all_routines }) => (over === undefined) !== (over_all_routines === undefined),
    'must have either "over" or "over_all_routines"',
  )

const Variable = z.strictObject({
  id: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must consist of letters, digits and underscores'),
  description: Words.optional(),
  tool: ToolId.describe('The tool whose result it is; it should change nothing'),
  arguments: z
    .record(z.string(), z.json())
    .default({})
    .describe('The arguments of the call, with expressions such as ${{ session.end_user_id }}'),
  max_age_seconds: z
    .number()
    .min(0)
    .max(31_536_000)
    .optional()
    .describe('A turn fetches it again if it is older; without it, it is fetched once per session'),
})

const CannedReply = z.strictObject({
  id: Slug,
  text: Words.describe('The reply, with expressions such as ${{ session.variables.customer.name }}'),
  when: Words.optional(),
})

/** An agent with its tools, policies and routines, as it is written in YAML. */
export const Manifest = z.strictObject({
  schema_version: z
    .preprocess((value) => (value === undefined ? undefined : String(value)), z.literal(schemaVersion).optional())
    .describe('The version of this format'),
  id: Slug.describe('The name of the agent'),
  name: Words.optional(),
  version: z.union([z.string(), z.number()]).optional(),
  secrets: z
    .array(
      z.strictObject({
        secret_name: z
          .string()
          .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'must consist of letters, digits and underscores'),
        description: Words.optional(),
      }),
    )
    .max(200)
    .default([])
    .describe('The variables that the rest of the manifest refers to as ${NAME}'),
  agent_config: z.strictObject({
    runtime: z
      .strictObject({
        api_key: EnvReference.optional().describe('The key that clients of the agent’s sessions use'),
        log_level: z.string().optional(),
        max_engine_iterations: z.int().min(1).max(50).default(5),
        policy_batch_size: z.int().min(1).max(50).default(5),
      })
      .prefault({}),
    llms: z.strictObject({ generation: Llm, evaluation: Llm.optional() }),
    mcps: z.array(Mcp).max(100).default([]),
    context: z
      .strictObject({
        description: Words.optional().describe('Who the agent is'),
        language: Words.optional(),
        policies: z.array(Policy).max(2000).default([]),
        routines: z.array(Routine).max(200).default([]),
        reevaluation_tools: z
          .array(z.strictObject({ id: ToolId }))
          .max(200)
          .default([]),
        glossary: z
          .array(z.strictObject({ term: Words, description: Words, synonyms: z.array(Words).max(50).default([]) }))
          .max(500)
          .default([]),
        variables: z
          .array(Variable)
          .max(50)
          .default([])
          .describe('Results of tools that a session keeps, as session.variables'),
        canned_replies: z.array(CannedReply).max(200).default([]).describe('Texts for replies'),
        reply_mode: z
          .enum(['free', 'strict'])
          .default('free')
          .describe('strict: a reply is one of the canned replies, or else safe_reply'),
        relationships: z.strictObject({ priorities: z.array(Priority).max(500).default([]) }).prefault({}),
        safe_reply: Words.optional().describe(
          'Sent instead of a reply that goes against a policy even after a rewrite',
        ),
      })
      .prefault({}),
  }),
})
export type Manifest = z.infer<typeof Manifest>
export type ManifestRoutine = Manifest['agent_config']['context']['routines'][number]
export type ManifestNode = ManifestRoutine['nodes'][number]

export const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value as T]
