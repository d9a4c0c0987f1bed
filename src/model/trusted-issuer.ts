import { z } from 'zod'
import { Id, Text, Timestamp } from './page.ts'

/** Symmetric algorithms are missing on purpose: anyone who can verify such a token can also make one. */
export const TokenAlgorithm = z.enum(['RS256', 'PS256', 'ES256', 'EdDSA'])

const policies = z.array(Id).max(20)

export const TrustedIssuerFields = {
  name: Text.trim().min(1).max(200),
  issuer: z
    .url()
    .max(1000)
    .regex(
      /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])[^?#@]+$/i,
      'must be an https URL without user name, query or fragment',
    )
    .describe('Exactly as it is in the tokens, including a slash at the end'),
  audience: z
    .string()
    .min(1)
    .max(1000)
    .nullable()
    .describe('The audience of its tokens; null for the URL of the MCP server that is called, which is safer'),
  algorithms: z.array(TokenAlgorithm).min(1).max(4).describe('The algorithms that its tokens may be signed with'),
  access_policy_ids: policies.describe('Access policies of everyone with a token'),
  rules: z
    .array(
      z.strictObject({
        claim: z.string().min(1).max(200),
        value: z.string().max(1000).describe('The claim must be this, or a list that contains it'),
        access_policy_ids: policies,
      }),
    )
    .max(50)
    .describe('Further access policies for tokens with a claim, such as a group'),
  required_claim: z
    .strictObject({ claim: z.string().min(1).max(200), value: z.string().max(1000) })
    .nullable()
    .describe('Tokens without this claim are refused, for an issuer that several tenants share'),
  enabled: z.boolean(),
}

/** An authorization server outside the platform whose access tokens the MCP servers of a project accept. */
export const TrustedIssuer = z.object({
  id: z.string(),
  project_id: z.string(),
  ...TrustedIssuerFields,
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type TrustedIssuer = z.infer<typeof TrustedIssuer>
export type TrustedIssuerDraft = Omit<TrustedIssuer, 'id' | 'project_id' | 'created_at' | 'updated_at'>
