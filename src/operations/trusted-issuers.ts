import { z } from 'zod'
import { PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { TrustedIssuer, type TrustedIssuerDraft, TrustedIssuerFields } from '../model/trusted-issuer.ts'
import { requireDenials, requireGrantable } from './granting.ts'
import { acts, type Context, creates, lists, type RecordKind } from './operation.ts'

const trustedIssuer: RecordKind<TrustedIssuer> = {
  name: 'trusted-issuer',
  find: (id, store) => store.trustedIssuers.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'trusted-issuer', id }),
}

const { name, issuer, ...rest } = TrustedIssuerFields
const optional = z.object(rest).partial().shape

export const createTrustedIssuer = creates({
  name: 'create-trusted-issuer',
  permission: 'trusted-issuers:CreateTrustedIssuer',
  route: 'POST /trusted-issuers',
  summary: 'Let MCP servers accept access tokens of another authorization server',
  example: {
    name: 'Acme',
    issuer: 'https://login.example.com',
    access_policy_ids: ['pol_caller'],
    rules: [{ claim: 'groups', value: 'engineering', access_policy_ids: ['pol_editor'] }],
  },
  kind: 'trusted-issuer',
  input: z.strictObject({ project_id: Id.optional(), name, issuer, ...optional }),
  output: TrustedIssuer,
  async run({ project_id: _, name, issuer, ...input }, context) {
    const draft: TrustedIssuerDraft = {
      ...{ name, issuer },
      audience: input.audience ?? null,
      algorithms: input.algorithms ?? ['RS256'],
      access_policy_ids: input.access_policy_ids ?? [],
      rules: input.rules ?? [],
      required_claim: input.required_claim ?? null,
      enabled: input.enabled ?? true,
    }
    await requireMayGive(draft, context.projectId, context)
    await requireOwnAudience(draft, context.projectId, context)
    return context.store.trustedIssuers.create(context.projectId, draft)
  },
})

export const listTrustedIssuers = lists({
  name: 'list-trusted-issuers',
  permission: 'trusted-issuers:ListTrustedIssuers',
  route: 'GET /trusted-issuers',
  summary: 'List the authorization servers whose tokens are accepted',
  of: trustedIssuer,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(TrustedIssuer),
  run: (input, { store, visible }) => store.trustedIssuers.list(input, visible),
})

export const getTrustedIssuer = acts({
  name: 'get-trusted-issuer',
  permission: 'trusted-issuers:GetTrustedIssuer',
  route: 'GET /trusted-issuers/{trusted_issuer_id}',
  summary: 'Get a trusted issuer',
  on: trustedIssuer,
  input: z.strictObject({ id: Id }),
  output: TrustedIssuer,
  run: async (_, { target }) => target,
})

export const updateTrustedIssuer = acts({
  name: 'update-trusted-issuer',
  permission: 'trusted-issuers:UpdateTrustedIssuer',
  route: 'PATCH /trusted-issuers/{trusted_issuer_id}',
  summary: 'Change what the tokens of a trusted issuer allow',
  example: { enabled: false },
  on: trustedIssuer,
  input: z.strictObject({ id: Id, name: name.optional(), ...optional }),
  output: TrustedIssuer,
  async run({ id, ...change }, context) {
    const { id: _, project_id, created_at: __, updated_at: ___, ...before } = context.target
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    const draft: TrustedIssuerDraft = { ...before, ...given }
    await requireMayGive(draft, project_id, context)
    await requireOwnAudience(draft, project_id, context)
    return (await context.store.trustedIssuers.update(id, draft)) ?? context.target
  },
})

export const deleteTrustedIssuer = acts({
  name: 'delete-trusted-issuer',
  permission: 'trusted-issuers:DeleteTrustedIssuer',
  route: 'DELETE /trusted-issuers/{trusted_issuer_id}',
  summary: 'Stop accepting the tokens of an issuer',
  status: 204,
  on: trustedIssuer,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run(_, { store, target }) {
    await store.trustedIssuers.remove(target.id)
    return null
  },
})

/** Whoever controls the issuer gets these policies, so the same rules apply as for a new key. */
async function requireMayGive(draft: TrustedIssuerDraft, projectId: string, context: Context): Promise<void> {
  const always = draft.access_policy_ids
  requireDenials(always, context)
  for (const rule of draft.rules) requireDenials([...always, ...rule.access_policy_ids], context)
  const all = [...new Set([...always, ...draft.rules.flatMap((rule) => rule.access_policy_ids)])]
  await requireGrantable(all, projectId, context)
}

/** A token must belong to one project. Two projects can share an audience only if a claim tells them apart. */
async function requireOwnAudience(
  { issuer, audience, required_claim: own }: TrustedIssuerDraft,
  projectId: string,
  { store }: Context,
): Promise<void> {
  if (audience === null) return
  const others = (await store.trustedIssuers.enabledFor(issuer)).filter(
    ({ project_id, audience: other, required_claim: claim }) =>
      project_id !== projectId &&
      other === audience &&
      !(own && claim && own.claim === claim.claim && own.value !== claim.value),
  )
  if (others.length === 0) return
  const message = 'is used by another project: leave it out, or tell the projects apart with required_claim'
  throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'audience', message }] })
}
