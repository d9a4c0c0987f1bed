import type { DashboardSessions } from '../../access/dashboard-sessions.ts'
import type { Principal } from '../../model/principal.ts'
import type { SignInForm } from './pages.ts'

/** A way for a person to prove who they are on the sign-in page. */
export interface SignInMethod extends SignInForm {
  /** Throws a PlatformError with what to tell the person. `from` is the address of the browser, to slow down guessing. */
  signIn(fields: URLSearchParams, from: string): Promise<Principal>
}

export const signInByKey = (sessions: Pick<DashboardSessions, 'identify'>): SignInMethod => ({
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
  signIn: (fields, from) => sessions.identify((fields.get('key') ?? '').slice(0, 1000), from),
})
