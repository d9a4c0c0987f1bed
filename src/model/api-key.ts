import { z } from 'zod'
import { AccessPolicyIds } from './access-policy.ts'
import { Text, Timestamp } from './page.ts'

/** A key without its value: the value is shown once, when the key is made, and only its hash is kept. */
export const ApiKey = z.object({
  id: z.string(),
  project_id: z.string().nullable().describe('The only project the key can see, or null for all'),
  name: z.string(),
  key_prefix: z.string().describe('The first characters of the value, to tell keys apart'),
  access_policy_ids: AccessPolicyIds,
  created_by: z
    .string()
    .nullable()
    .describe('The key that it was created with; null for the first keys, and where that is not known'),
  rate_limit: z.int().nullable().describe('Requests a minute, or null for the platform’s default'),
  expires_at: Timestamp.nullable(),
  last_used_at: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type ApiKey = z.infer<typeof ApiKey>

export const NewApiKeyAnswer = ApiKey.extend({ key: z.string().describe('The key’s value: it is never shown again') })

export const ApiKeyFields = {
  name: Text.trim().min(1).max(200),
  access_policy_ids: AccessPolicyIds,
  rate_limit: z.int().min(1).max(1_000_000_000).nullable(),
  expires_at: z.iso.datetime({ offset: true }).nullable(),
}
