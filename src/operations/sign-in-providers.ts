import { z } from 'zod'
import { isAdmin } from '../access/last-admin.ts'
import { redirectUriAt } from '../credentials/single-sign-on.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { type SignInProvider, SignInProviderFields, SignInProviderView } from '../model/sign-in-provider.ts'
import { sealedAt } from '../store/sealed.ts'
import { requireUnlimited } from './granting.ts'
import { acts, type Context, lists, operation, type RecordKind, requireAllowed } from './operation.ts'

/** Providers belong to the platform: an account at one of them can be that of any person. */
const signInProvider: RecordKind<SignInProvider> = {
  name: 'sign-in-provider',
  find: (id, store) => store.signInProviders.find(id),
  resource: ({ id }) => ({ projectId: null, kind: 'sign-in-provider', id }),
}

const { issuer, ...changeable } = SignInProviderFields
const create = 'sign-in-providers:CreateSignInProvider'

export const createSignInProvider = operation({
  name: 'create-sign-in-provider',
  permission: create,
  route: 'POST /sign-in-providers',
  summary: 'Let people sign in with a company account (OpenID Connect)',
  example: {
    name: 'Acme',
    issuer: 'https://login.example.com',
    client_id: 'quartermaster',
    client_secret: 'client-secret-0123456789',
    allowed_domains: ['example.com'],
  },
  status: 201,
  secretFields: ['client_secret'],
  input: z.strictObject({
    ...changeable,
    issuer,
    client_secret: changeable.client_secret.default(null),
    allowed_domains: changeable.allowed_domains.default([]),
    default_role: changeable.default_role.default(null),
    default_project_id: changeable.default_project_id.default(null),
    enabled: changeable.enabled.default(true),
  }),
  output: SignInProviderView,
  async run({ issuer, ...draft }, context) {
    requireAllowed(context.principal, create, { projectId: null, kind: 'sign-in-provider', id: '*' })
    await requireTrusted(draft, create, context)
    const id = newId('sip')
    const client_secret = await sealed(draft.client_secret, id, context)
    return view(await context.store.signInProviders.create(id, issuer, { ...draft, client_secret }), context)
  },
})

export const listSignInProviders = lists({
  name: 'list-sign-in-providers',
  permission: 'sign-in-providers:ListSignInProviders',
  route: 'GET /sign-in-providers',
  summary: 'List sign-in providers, without their client secrets',
  of: signInProvider,
  input: z.strictObject({ ...Paging }),
  output: pageOf(SignInProviderView),
  async run(window, context) {
    const { principal, store } = context
    const visible = principal.projectId === null ? context.visible : () => false
    const page = await store.signInProviders.list(window, visible)
    return { ...page, data: page.data.map((provider) => view(provider, context)) }
  },
})

export const getSignInProvider = acts({
  name: 'get-sign-in-provider',
  permission: 'sign-in-providers:GetSignInProvider',
  route: 'GET /sign-in-providers/{sign_in_provider_id}',
  summary: 'Get a sign-in provider, without its client secret',
  on: signInProvider,
  input: z.strictObject({ id: Id }),
  output: SignInProviderView,
  run: async (_, context) => view(context.target, context),
})

export const updateSignInProvider = acts({
  name: 'update-sign-in-provider',
  permission: 'sign-in-providers:UpdateSignInProvider',
  route: 'PATCH /sign-in-providers/{sign_in_provider_id}',
  summary: 'Change a sign-in provider; for another issuer, create a new one',
  example: { allowed_domains: ['example.com', 'example.org'] },
  secretFields: ['client_secret'],
  on: signInProvider,
  input: z.strictObject({ id: Id, ...z.object(changeable).partial().shape }),
  output: SignInProviderView,
  async run({ id, client_secret, ...sent }, context) {
    const { store, target } = context
    const change = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined))
    await requireTrusted({ ...target, ...change }, 'sign-in-providers:UpdateSignInProvider', context)
    const secret = client_secret === undefined ? {} : { client_secret: await sealed(client_secret, id, context) }
    return view((await store.signInProviders.update(id, { ...change, ...secret })) ?? target, context)
  },
})

export const testSignInProvider = acts({
  name: 'test-sign-in-provider',
  permission: 'sign-in-providers:UpdateSignInProvider',
  route: 'POST /sign-in-providers/{sign_in_provider_id}/test',
  summary: 'Check that a sign-in provider can be reached and describes itself',
  example: {},
  on: signInProvider,
  input: z.strictObject({ id: Id }),
  output: z.object({ authorization_endpoint: z.string().describe('Where people are sent to sign in') }),
  run: (_, { singleSignOn, target }) => singleSignOn.test(target),
})

export const deleteSignInProvider = acts({
  name: 'delete-sign-in-provider',
  permission: 'sign-in-providers:DeleteSignInProvider',
  route: 'DELETE /sign-in-providers/{sign_in_provider_id}',
  summary: 'Delete a sign-in provider; people who used it keep their accounts and sessions',
  status: 204,
  on: signInProvider,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.signInProviders.remove(id)
    return null
  },
})

const view = (provider: SignInProvider, { publicUrl }: Context): z.infer<typeof SignInProviderView> => ({
  ...provider,
  redirect_uri: redirectUriAt(publicUrl()) ?? null,
})

const sealed = async (secret: string | null, id: string, { vault }: Context): Promise<string | null> =>
  secret === null ? null : vault.seal(secret, sealedAt.signInProviderSecret(id))

/** A provider says who someone is, and that can be an owner. So the person who configures it can sign in as anyone. */
async function requireTrusted(
  provider: Pick<SignInProvider, 'allowed_domains' | 'default_role' | 'default_project_id'>,
  permission: string,
  context: Context,
): Promise<void> {
  requireUnlimited(context, permission)
  if (!isAdmin(context.principal)) {
    const resource = 'qm:*:sign-in-provider:*'
    const reason = 'A sign-in provider can sign anyone in, so only administrators can configure it.'
    throw new PlatformError('FORBIDDEN', { permission, layer: 'access policy', resource, reason })
  }
  if (provider.default_role !== null && provider.allowed_domains.length === 0) {
    throw invalid('allowed_domains', 'must not be empty with a default_role: anyone with an account could sign in')
  }
  const { default_project_id: id } = provider
  if (id !== null && !(await context.store.projects.find(id))) throw invalid('default_project_id', 'does not exist')
}

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
