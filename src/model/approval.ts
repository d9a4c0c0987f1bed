import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { Surface } from './call.ts'
import { Timestamp } from './page.ts'

/** For the transitions, see docs/decisions/2026-11-18-approvals.md. */
export const ApprovalStatus = z.enum(['pending', 'approved', 'rejected', 'expired', 'cancelled', 'used'])
export type ApprovalStatus = z.infer<typeof ApprovalStatus>

/** A reason why the call needs approval. */
export const Gate = z.object({
  gate: z
    .enum(['tool', 'level', 'annotation', 'rule', 'server', 'workflow'])
    .describe(
      'tool: auto_approve is off on the tool; level: the level is above open; annotation: the action is destructive; rule: an approval rule matched; server: auto_approve is off on the server; workflow: the step of a workflow waits for approval',
    ),
  id: z.string().optional().describe('Id of the tool, the rule, the server or the workflow run'),
  name: z.string().optional(),
  reason: z.string().optional(),
})
export type Gate = z.infer<typeof Gate>

/** The decision of one person, with the arguments it applies to. */
export const Decision = z.object({
  decision: z.enum(['approve', 'reject']),
  by: z.object({ id: z.string(), name: z.string() }),
  at: Timestamp,
  reason: z.string().nullable(),
  args_hash: z.string().describe('Hash of the arguments that were decided on'),
})
export type Decision = z.infer<typeof Decision>

/** An argument that is hidden, or that looks like a credential. */
export const Sensitive = z.object({
  path: z.string().describe('Path of the argument, such as "account.token"'),
  type: z.enum(['string', 'number', 'boolean', 'array', 'object', 'null']),
  length: z.int().nullable().describe('Number of characters, items or fields'),
  reason: z
    .enum(['schema', 'api_key', 'name', 'depth'])
    .describe(
      'schema: the tool’s schema declares it secret; api_key: it contains an API key of this platform; name: only its name looks like a credential; depth: it is nested too deeply to be shown',
    ),
  hidden: z.boolean().describe('If true, the value is not shown and is used as sent'),
})
export type Sensitive = z.infer<typeof Sensitive>

const AnyObject = z.custom<JsonObject>().meta({ type: 'object' })

/** A request for a human decision on one call with fixed arguments. */
export const Approval = z.object({
  id: z.string(),
  project_id: z.string(),
  call_id: z.string().describe('The waiting call'),
  tool_id: z.string(),
  tool: z.string().describe('The tool’s name at the time of the call'),
  action: z.string().describe('namespace:name'),
  status: ApprovalStatus,
  input: AnyObject.describe('Arguments from the caller; declared secrets are hidden'),
  edited_input: AnyObject.nullable().describe('Arguments as edited by a reviewer; the call uses these'),
  args_hash: z.string().describe('SHA-256 of the arguments the call would use, as canonical JSON'),
  preset_keys: z
    .array(z.string())
    .describe('Names of the arguments that are preset on the tool; their values are not shown'),
  secret_paths: z
    .array(z.array(z.string()))
    .describe('Paths that the tool’s schema declares secret; * matches any key or index'),
  sensitive: z
    .array(Sensitive)
    .describe(
      'Arguments that are hidden, or that are shown although they look like credentials. Check them before you approve',
    ),
  definition_hash: z.string().describe('Hash of the action’s definition when approval was requested'),
  principal: z.object({ id: z.string(), name: z.string() }).describe('The requester'),
  surface: Surface,
  client: z.object({ name: z.string().nullable(), version: z.string().nullable() }),
  agent_id: z.string().nullable(),
  generation_id: z.string().nullable(),
  server_id: z.string().nullable(),
  why: z.array(Gate).describe('All reasons why the call needs approval'),
  approvals_needed: z.int().describe('How many different people must approve'),
  decisions: z.array(Decision).describe('All decisions, in order'),
  decided_by: z.object({ id: z.string(), name: z.string() }).nullable(),
  decided_at: Timestamp.nullable(),
  reason: z.string().nullable().describe('The reviewer’s reason'),
  expires_at: Timestamp.describe('Deadline for the decision; once approved, deadline for the call'),
  used_at: Timestamp.nullable(),
  created_at: Timestamp,
})
export type Approval = z.infer<typeof Approval>

/** Without the arguments, which may be large. */
export const ApprovalSummary = Approval.omit({ input: true, edited_input: true, sensitive: true })
export type ApprovalSummary = z.infer<typeof ApprovalSummary>

/** How long a grant is valid after the decision. A caller that gave up has this long to call again. */
export const grantMs = 10 * 60_000

/** An approval timeout in seconds, up to 7 days. */
export const ApprovalSeconds = z
  .number()
  .min(1)
  .max(7 * 24 * 60 * 60)

/** The response to a caller that does not wait for the decision. */
export const PendingApproval = z.object({
  status: z.literal('pending_approval'),
  approval_id: z.string(),
  expires_at: Timestamp,
})
