import { z } from 'zod'
import { ApprovalSeconds } from './approval.ts'
import { Id, Text, Timestamp } from './page.ts'

/** One app of a server, and which of its actions; all of them where they are left out. */
export const ServerApp = z.strictObject({
  slug: z.string().min(1).max(64),
  actions: z.array(z.string().min(1).max(200)).max(5000).optional(),
  workflows: z.array(z.string().min(1).max(200)).max(5000).optional(),
})
export type ServerApp = z.infer<typeof ServerApp>

export const ServerFields = {
  slug: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9-]{0,62}$/,
      'must be a slug: 1 to 63 lower-case letters, digits and "-", the first of them a letter or digit',
    ),
  name: Text.trim().min(1).max(200),
  description: Text.max(20_000).nullable().describe('Shown to the agents that connect'),
  enabled: z.boolean().describe('Off: the endpoint answers 404'),
  agent_mode: z.boolean().describe('Two tools that find and run actions, instead of one tool for each action'),
  retrieve_skill: z.boolean().describe('Adds the tools that list and load skills'),
  tool_names: z
    .enum(['generated', 'original'])
    .describe('generated: {app}_{action}_action; original: as the actions are called where they come from'),
  apps: z.array(ServerApp).max(1000).nullable().describe('What it offers; null is everything in the project'),
  skill_ids: z.array(Id).max(1000).nullable().describe('Which skills it offers; null is every one in the project'),
  result_limit: z
    .int()
    .min(1000)
    .max(10_000_000)
    .nullable()
    .describe(
      'Of a result with more bytes of text a model gets the beginning, and READ_RESULT to read on; null is off',
    ),
  auto_approve: z
    .boolean()
    .nullable()
    .describe('False: a human decides on everything that is called here; otherwise it is as the tools say'),
  approval_timeout_seconds: ApprovalSeconds.nullable().describe(
    'How long that decision may take, unless the rule or the tool says',
  ),
}

/** An MCP endpoint of ours: what it offers, and how. */
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
