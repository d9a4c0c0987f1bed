import { z } from 'zod'
import { ApprovalSeconds } from './approval.ts'
import { Text, Timestamp } from './page.ts'

export const ApprovalRuleFields = {
  name: Text.trim().min(1).max(200),
  enabled: z.boolean(),
  expression: Text.min(1)
    .max(4000)
    .describe(
      'CEL expression: calls for which it is true need approval. Variables: input, action, tool, principal, agent, server and surface',
    ),
  timeout_seconds: ApprovalSeconds.nullable().describe('Time to decide before the call is rejected'),
  two_people: z.boolean().describe('Require approval by two different people'),
  reason: Text.max(2000).nullable().describe('Shown to the reviewer'),
}

/** A condition under which calls need approval. */
export const ApprovalRule = z.object({
  id: z.string(),
  project_id: z.string(),
  ...ApprovalRuleFields,
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type ApprovalRule = z.infer<typeof ApprovalRule>
export type ApprovalRuleDraft = Omit<ApprovalRule, 'id' | 'project_id' | 'created_at' | 'updated_at'>
