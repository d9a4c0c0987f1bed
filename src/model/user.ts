import { z } from 'zod'
import { AccessPolicyIds } from './access-policy.ts'
import { Modes } from './api-key.ts'
import { Text, Timestamp } from './page.ts'

/** The built-in access policy of each role. */
export const roles = {
  owner: 'pol_administrator',
  editor: 'pol_editor',
  reviewer: 'pol_reviewer',
  viewer: 'pol_viewer',
} as const

export const Role = z
  .enum(['owner', 'editor', 'reviewer', 'viewer'])
  .describe(
    'owner: full access; editor: can manage tools, but not access; reviewer: can decide approvals; viewer: can read',
  )
export type Role = z.infer<typeof Role>

/** The role whose access policy is the only one; null for any other set of policies. */
export const roleOf = (policyIds: readonly string[]): Role | null =>
  policyIds.length === 1 ? (Role.options.find((role) => roles[role] === policyIds[0]) ?? null) : null

/** Compared in lower case, as mail systems do. */
export const Email = z.string().trim().toLowerCase().max(254).pipe(z.email('must be an email address'))

/** The minimum length is the only rule: longer passwords are stronger, required characters are not. */
export const shortestPassword = 12
export const Password = z
  .string()
  .max(256)
  .refine((text) => text.isWellFormed(), 'contains invalid Unicode')
  .refine(
    (text) => [...text.normalize('NFKC')].length >= shortestPassword,
    `must have at least ${shortestPassword} characters`,
  )

export const UserStatus = z
  .enum(['invited', 'active', 'disabled'])
  .describe('invited: has not signed in yet; disabled: cannot sign in')
export type UserStatus = z.infer<typeof UserStatus>

/** A person who signs in to the dashboard. */
export const User = z.object({
  id: z.string(),
  project_id: z.string().nullable().describe('The only project this person can access, or null for all projects'),
  email: z.string(),
  name: z.string(),
  role: Role.nullable().describe('Null if the access policies are not those of one role'),
  access_policy_ids: AccessPolicyIds,
  modes: Modes,
  status: UserStatus,
  has_password: z.boolean(),
  sso_issuer: z.string().nullable().describe('The issuer of the company account that this person signs in with'),
  invitation_expires_at: Timestamp.nullable().describe('Null if there is no open invitation'),
  created_by: z
    .string()
    .nullable()
    .describe('The key or person that sent the invitation; null if SSO created the account'),
  last_seen_at: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type User = z.infer<typeof User>

export const InvitedUser = User.extend({
  invitation_url: z.string().describe('Send this link to the person. It works once, and is never shown again'),
})

export const UserFields = {
  name: Text.trim().min(1).max(200),
  access_policy_ids: AccessPolicyIds,
  modes: Modes,
}
