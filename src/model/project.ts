import { z } from 'zod'
import { ApprovalSeconds } from './approval.ts'
import { Text, Timestamp } from './page.ts'

/** A tenant. Tools, agents, calls and other resources belong to a project. */
export const Project = z.object({
  id: z.string(),
  name: z.string(),
  approval_timeout_seconds: z.number().nullable(),
  return_origins: z.array(z.string()),
  verifier_url: z.string().nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Project = z.infer<typeof Project>

const isWeb = (text: string) => ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '')
const WebUrl = Text.max(2000).refine(isWeb, 'must be an http or https URL')
const WebOrigin = WebUrl.refine(
  (text) => URL.parse(text)?.origin === text,
  'must be an origin, without a path or a slash',
)

export const ProjectFields = {
  name: Text.trim().min(1).max(200),
  approval_timeout_seconds: ApprovalSeconds.nullable().describe(
    'Time to decide on an approval, unless the rule, the tool or the server sets it',
  ),
  return_origins: z
    .array(WebOrigin)
    .max(50)
    .describe('Origins that the hosted connect page may return to, such as https://app.example.com'),
  verifier_url: WebUrl.nullable().describe(
    'Page of your application that confirms who opened a connect link; the flow is appended as ?flow_id=…',
  ),
}

export type ProjectDraft = Pick<Project, 'name' | 'approval_timeout_seconds'> &
  Partial<Pick<Project, 'return_origins' | 'verifier_url'>>
