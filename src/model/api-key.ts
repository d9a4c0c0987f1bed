import { z } from 'zod'
import { AccessPolicyIds } from './access-policy.ts'
import { EndUserId } from './connection.ts'
import { Text, Timestamp } from './page.ts'

export const Modes = z
  .array(z.string().min(1).max(63))
  .max(20)
  .describe('Slugs of the modes that calls can have, the default first; none by default')

/** A key without its value. The value is shown once, when the key is created, and only its hash is stored. */
export const ApiKey = z.object({
  id: z.string(),
  project_id: z.string().nullable().describe('The project the key is bound to, or null for all projects'),
  name: z.string(),
  key_prefix: z.string().describe('The first characters of the key, to identify it'),
  access_policy_ids: AccessPolicyIds,
  created_by: z
    .string()
    .nullable()
    .describe('The key that created it; null for the first keys and where this is unknown'),
  rate_limit: z.int().nullable().describe('Requests per minute, or null for the platform’s default'),
  end_user_id: z.string().nullable().describe('The end user whose connections its calls use; it cannot be changed'),
  modes: Modes,
  expires_at: Timestamp.nullable(),
  last_used_at: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type ApiKey = z.infer<typeof ApiKey>

export const NewApiKeyAnswer = ApiKey.extend({ key: z.string().describe('The key itself; it is never shown again') })

export const ApiKeyFields = {
  modes: Modes,
  name: Text.trim().min(1).max(200),
  access_policy_ids: AccessPolicyIds,
  rate_limit: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .nullable()
    .describe('Requests per minute; null for the platform’s default'),
  end_user_id: EndUserId.nullable(),
  expires_at: z.iso.datetime({ offset: true }).nullable(),
}
