import { z } from 'zod'
import { ApprovalSeconds } from './approval.ts'
import { Text, Timestamp } from './page.ts'

/** A tenant. Tools, agents, calls and other resources belong to a project. */
export const Project = z.object({
  id: z.string(),
  name: z.string(),
  approval_timeout_seconds: z.number().nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Project = z.infer<typeof Project>

export const ProjectFields = {
  name: Text.trim().min(1).max(200),
  approval_timeout_seconds: ApprovalSeconds.nullable().describe(
    'Time to decide on an approval, unless the rule, the tool or the server sets it',
  ),
}

export type ProjectDraft = Pick<Project, 'name' | 'approval_timeout_seconds'>
