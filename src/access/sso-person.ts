import { PlatformError } from '../model/errors.ts'
import type { Principal } from '../model/principal.ts'
import type { SignInProvider } from '../model/sign-in-provider.ts'
import { roles } from '../model/user.ts'
import type { Store } from '../store/store.ts'
import type { Authenticator } from './authenticator.ts'
import type { OidcAccount } from './oidc.ts'

type Refusal = 'not invited' | 'email not verified' | 'domain not allowed' | 'disabled' | 'other account'

const refused = (reason: Refusal) => new PlatformError('SIGN_IN_REFUSED', { reason })

/**
 * The person that a verified account belongs to. An account that was linked before is recognised by issuer and subject.
 * A new one is linked to the person with its email address, if the provider has verified it and the person has no account
 * yet: otherwise a reused address would take over someone's access. Without such a person, one is created if the provider
 * has a default role.
 */
export async function personOf(
  account: OidcAccount,
  provider: SignInProvider,
  { store, authenticator }: { readonly store: Store; readonly authenticator: Authenticator },
): Promise<Principal> {
  const linked = await store.users.findByAccount(account.issuer, account.subject)
  if (linked) requireDomain(linked.email, provider)
  const id = linked?.id ?? (await link(account, provider, store))
  const principal = await authenticator.principal(id)
  if (!principal) throw refused('disabled')
  return principal
}

async function link(account: OidcAccount, provider: SignInProvider, store: Store): Promise<string> {
  const { issuer, subject, email } = account
  if (email === null) throw refused('email not verified')
  requireDomain(email, provider)
  const known = await store.users.findRow('email', email)
  if (!known) return create({ ...account, email }, provider, store)
  if (known.status === 'disabled') throw refused('disabled')
  if (!(await store.users.link(known.id, issuer, subject))) throw refused('other account')
  return known.id
}

async function create(
  { issuer, subject, email, name }: OidcAccount & { readonly email: string },
  { default_role, default_project_id }: SignInProvider,
  store: Store,
): Promise<string> {
  if (default_role === null) throw refused('not invited')
  const created = await store.users.create({
    ...{ email, name: name ?? (email.split('@')[0] as string), project_id: default_project_id, status: 'active' },
    ...{ access_policy_ids: [roles[default_role]], created_by: null, ancestors: [] },
    ...{ sso_issuer: issuer, sso_subject: subject },
  })
  return created.id
}

function requireDomain(email: string, { allowed_domains }: SignInProvider): void {
  const domain = email.slice(email.lastIndexOf('@') + 1)
  if (allowed_domains.length > 0 && !allowed_domains.includes(domain)) throw refused('domain not allowed')
}
