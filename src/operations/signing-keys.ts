import { z } from 'zod'
import type { SigningKey } from '../credentials/oauth-server-keys.ts'
import { iso, Timestamp } from '../model/page.ts'
import { type Context, operation, requireAllowed } from './operation.ts'

export const SigningKeyView = z.object({
  id: z.string().describe('The key id (`kid`) in tokens and in the JWKS'),
  status: z.enum(['current', 'replaced']).describe('The current key signs; tokens of replaced keys are still valid'),
  created_at: Timestamp,
  valid_until: Timestamp.nullable().describe('When tokens signed with it stop being valid; null for the current key'),
})

export const SigningKeys = z.object({ data: z.array(SigningKeyView) })

const viewOf = ({ jwk, createdAt, validUntil }: SigningKey): z.infer<typeof SigningKeyView> => ({
  id: jwk.kid ?? '',
  status: validUntil === undefined ? 'current' : 'replaced',
  created_at: iso(createdAt),
  valid_until: validUntil === undefined ? null : iso(validUntil),
})

/** The authorization server belongs to the platform, not to a project. */
const requireKeys = (permission: string, { principal }: Context): void =>
  requireAllowed(principal, permission, { projectId: null, kind: 'signing-key', id: '*' })

export const listSigningKeys = operation({
  name: 'list-signing-keys',
  permission: 'signing-keys:ListSigningKeys',
  route: 'GET /signing-keys',
  summary: 'List the keys that sign tokens of the built-in authorization server',
  input: z.strictObject({}),
  output: SigningKeys,
  async run(_, context) {
    requireKeys('signing-keys:ListSigningKeys', context)
    return { data: (await context.signingKeys.signing()).map(viewOf) }
  },
})

export const rotateSigningKey = operation({
  name: 'rotate-signing-key',
  permission: 'signing-keys:RotateSigningKey',
  route: 'POST /signing-keys/rotate',
  summary: 'Sign tokens of the built-in authorization server with a new key',
  example: {},
  input: z.strictObject({
    revoke_earlier: z
      .boolean()
      .default(false)
      .describe('Also reject tokens signed with earlier keys at once. Clients get new ones with their refresh tokens'),
  }),
  output: SigningKeys,
  async run({ revoke_earlier: revokesEarlier }, context) {
    requireKeys('signing-keys:RotateSigningKey', context)
    return { data: (await context.signingKeys.rotate({ revokesEarlier })).map(viewOf) }
  },
})
