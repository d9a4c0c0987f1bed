import { type SignInDeps, verifyKey, verifyPassword } from '../../access/sign-in.ts'
import type { Principal } from '../../model/principal.ts'
import type { SignInForm } from './pages.ts'

/** A way for a person to prove who they are on the sign-in page. */
export interface SignInMethod extends SignInForm {
  /** Throws a PlatformError with what to tell the person. `from` is the address of the browser, to slow down guessing. */
  signIn(fields: URLSearchParams, from: string): Promise<Principal>
}

/** Passwords come first once there are people who may have one. */
export async function signInMethods(deps: SignInDeps): Promise<readonly SignInMethod[]> {
  const { total } = await deps.store.users.list({ limit: 1, offset: 0 }, undefined)
  return total > 0 ? [byPassword(deps), byKey(deps)] : [byKey(deps)]
}

const read = (fields: URLSearchParams, name: string) => (fields.get(name) ?? '').slice(0, 1000)

const byKey = (deps: SignInDeps): SignInMethod => ({
  id: 'api_key',
  fields: [
    {
      name: 'key',
      label: 'API key',
      type: 'password',
      autocomplete: 'current-password',
      placeholder: 'sk_…',
      hint: 'The app does not see this key. It gets access to one MCP server, with the permissions of the key.',
    },
  ],
  signIn: (fields, from) => verifyKey(read(fields, 'key'), from, deps),
})

const byPassword = (deps: SignInDeps): SignInMethod => ({
  id: 'password',
  fields: [
    { name: 'email', label: 'Email address', type: 'email', autocomplete: 'username' },
    { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
  ],
  signIn: (fields, from) => verifyPassword(read(fields, 'email'), read(fields, 'password'), from, deps),
})
