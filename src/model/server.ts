import { z } from 'zod'
import { ApprovalSeconds } from './approval.ts'
import { Id, Text, Timestamp } from './page.ts'

/** One app of a server, with the actions to offer. By default, all of them. */
export const ServerApp = z.strictObject({
  slug: z.string().min(1).max(64),
  actions: z.array(z.string().min(1).max(200)).max(5000).optional(),
  workflows: z.array(z.string().min(1).max(200)).max(5000).optional(),
  prompts: z.boolean().optional().describe('Whether to pass on its prompts. By default, unless `actions` is set'),
  resources: z.boolean().optional().describe('Whether to pass on its resources. By default, unless `actions` is set'),
})
export type ServerApp = z.infer<typeof ServerApp>

/** Who may connect, beyond what access policies say. */
export const ServerAccess = z.strictObject({
  methods: z
    .array(z.enum(['api_key', 'oauth']))
    .min(1)
    .max(2)
    .refine((methods) => new Set(methods).size === methods.length, 'must not repeat a method')
    .describe('The credentials it accepts: API keys, OAuth access tokens, or both'),
  users: z
    .array(Id)
    .max(1000)
    .nullable()
    .describe('Ids of the only users and API keys that may use it; null for all whose access policies allow it'),
})
export type ServerAccess = z.infer<typeof ServerAccess>

export const openAccess: ServerAccess = { methods: ['api_key', 'oauth'], users: null }

export const ServerFields = {
  slug: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9-]{0,62}$/,
      'must be a slug: 1 to 63 lowercase letters, digits and "-", starting with a letter or digit',
    ),
  name: Text.trim().min(1).max(200),
  description: Text.max(20_000).nullable().describe('Shown to the agents that connect'),
  enabled: z.boolean().describe('If false, the endpoint returns 404'),
  agent_mode: z
    .boolean()
    .describe('Agent mode: offer two tools that find and run actions, instead of one tool per action'),
  code_mode: z
    .boolean()
    .describe(
      'Code mode: add a tool that runs TypeScript written by the model, which can call the actions of the server',
    ),
  retrieve_skill: z.boolean().describe('Add the tools that list and load skills'),
  pass_prompts: z.boolean().describe('Pass on the prompts of the MCP servers behind it'),
  pass_resources: z.boolean().describe('Pass on the resources of the MCP servers behind it'),
  tool_names: z
    .enum(['generated', 'original'])
    .describe('generated: {app}_{action}_action; original: the names that the actions have at their source'),
  apps: z.array(ServerApp).max(1000).nullable().describe('Apps it offers; null offers everything in the project'),
  skill_ids: z.array(Id).max(1000).nullable().describe('Skills it offers; null offers all skills in the project'),
  result_limit: z
    .int()
    .min(1000)
    .max(10_000_000)
    .nullable()
    .describe(
      'Results with more bytes of text than this are truncated, and the model reads the rest with READ_RESULT; null turns this off',
    ),
  resolve_tokens: z
    .int()
    .min(100)
    .max(100_000)
    .nullable()
    .describe(
      'About how many tokens an answer of RESOLVE_ACTIONS may have; alternatives and details of schemas are left out above that. null for the default, 2000',
    ),
  auto_approve: z
    .boolean()
    .nullable()
    .describe('If false, every call through this server needs approval; otherwise the tools decide'),
  approval_timeout_seconds: ApprovalSeconds.nullable().describe('Time to decide, unless the rule or the tool sets it'),
  access: ServerAccess.describe('Which credentials it accepts, and whose'),
}

/** An MCP endpoint of the platform, with what it offers. */
export const Server = z.object({
  id: z.string(),
  project_id: z.string(),
  ...ServerFields,
  url: z.string().describe('The path of the endpoint'),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Server = z.infer<typeof Server>
export type ServerDraft = Omit<Server, 'id' | 'project_id' | 'url' | 'created_at' | 'updated_at'>
