import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { Surface } from './call.ts'
import { Timestamp } from './page.ts'

/** See docs/decisions/2026-11-18-approvals.md for what moves an approval from one to the other. */
export const ApprovalStatus = z.enum(['pending', 'approved', 'rejected', 'expired', 'cancelled', 'used'])
export type ApprovalStatus = z.infer<typeof ApprovalStatus>

/** One of the gates that asked for a decision. */
export const Gate = z.object({
  gate: z
    .enum(['tool', 'level', 'annotation', 'rule', 'server'])
    .describe(
      'tool: auto_approve is off; level: above open; annotation: destructive; rule: an approval rule; server: auto_approve is off there',
    ),
  id: z.string().optional().describe('Of the tool, the rule or the server'),
  name: z.string().optional(),
  reason: z.string().optional(),
})
export type Gate = z.infer<typeof Gate>

/** What one person decided, and on which arguments. */
export const Decision = z.object({
  decision: z.enum(['approve', 'reject']),
  by: z.object({ id: z.string(), name: z.string() }),
  at: Timestamp,
  reason: z.string().nullable(),
  args_hash: z.string().describe('Of the arguments that were decided on'),
})
export type Decision = z.infer<typeof Decision>

/** An argument that is hidden from its readers, or that looks like a credential. */
export const Sensitive = z.object({
  path: z.string().describe('Where it stands, as in "account.token"'),
  type: z.enum(['string', 'number', 'boolean', 'array', 'object', 'null']),
  length: z.int().nullable().describe('Characters, items or fields'),
  reason: z
    .enum(['schema', 'api_key', 'name', 'depth'])
    .describe(
      'schema: the tool declares it secret; api_key: it holds an API key of this platform; name: only its name sounds like a credential; depth: it is nested too deep to be shown',
    ),
  hidden: z.boolean().describe('True: its value is not shown, and runs as it was sent'),
})
export type Sensitive = z.infer<typeof Sensitive>

const AnyObject = z.custom<JsonObject>().meta({ type: 'object' })

/** A human's decision on one frozen call. */
export const Approval = z.object({
  id: z.string(),
  project_id: z.string(),
  call_id: z.string().describe('The call that waits'),
  tool_id: z.string(),
  tool: z.string().describe('The tool’s name at the time'),
  action: z.string().describe('namespace:name'),
  status: ApprovalStatus,
  input: AnyObject.describe('What the caller sent; declared secrets are hidden'),
  edited_input: AnyObject.nullable().describe('What a reviewer made of it; this is what runs'),
  args_hash: z.string().describe('SHA-256 of the arguments that would run, as canonical JSON'),
  preset_keys: z.array(z.string()).describe('The arguments that are fixed on the tool and are not shown'),
  secret_paths: z
    .array(z.array(z.string()))
    .describe('Where the tool’s schema declares secrets; * stands for any key or index'),
  sensitive: z
    .array(Sensitive)
    .describe('Arguments that are hidden, or shown though they look like credentials; look at them before you approve'),
  definition_hash: z.string().describe('Of what the action was when it was asked for'),
  principal: z.object({ id: z.string(), name: z.string() }).describe('Who asked'),
  surface: Surface,
  client: z.object({ name: z.string().nullable(), version: z.string().nullable() }),
  agent_id: z.string().nullable(),
  generation_id: z.string().nullable(),
  server_id: z.string().nullable(),
  why: z.array(Gate).describe('Every gate that asked for the decision'),
  approvals_needed: z.int().describe('How many different people must approve'),
  decisions: z.array(Decision).describe('Everything that was decided, in order'),
  decided_by: z.object({ id: z.string(), name: z.string() }).nullable(),
  decided_at: Timestamp.nullable(),
  reason: z.string().nullable().describe('The reviewer’s'),
  expires_at: Timestamp.describe('Until when it can be decided; once approved, until when the call can be made'),
  used_at: Timestamp.nullable(),
  created_at: Timestamp,
})
export type Approval = z.infer<typeof Approval>

/** All but the arguments, which may be large. */
export const ApprovalSummary = Approval.omit({ input: true, edited_input: true, sensitive: true })
export type ApprovalSummary = z.infer<typeof ApprovalSummary>

/** How long an approved call may be made, once: a caller that has given up has so long to call again. */
export const grantMs = 10 * 60_000

/** In seconds; a person may take some days, and not for ever. */
export const ApprovalSeconds = z
  .number()
  .min(1)
  .max(7 * 24 * 60 * 60)

/** What a caller is told who does not wait for the decision. */
export const PendingApproval = z.object({
  status: z.literal('pending_approval'),
  approval_id: z.string(),
  expires_at: Timestamp,
})
