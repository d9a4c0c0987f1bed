import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { findSignInOptions, type SignInOptions, type SignInWith, signIn } from '../api.ts'
import { setSession } from '../queries.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Entrance } from '../ui/entrance.tsx'
import { TextField } from '../ui/field.tsx'
import { ErrorNotice } from '../ui/notice.tsx'

/** People come first once there are any. Before, there is only the admin key. */
export function SignIn() {
  const { data, error, refetch } = useQuery({ queryKey: ['sign-in-options'], queryFn: findSignInOptions })
  const [chosen, setChosen] = useState<'person' | 'key'>()
  const hasPeople = data !== undefined && (data.people || data.providers.length > 0)
  const way = chosen ?? (hasPeople ? 'person' : 'key')
  if (!data && !error) return null
  return (
    <Entrance title="Quartermaster">
      <div className="space-y-4 rounded-lg border border-line bg-panel p-4">
        <Refusal />
        <ErrorNotice error={error} retry={() => refetch()} />
        {way === 'person' && data && <Providers providers={data.providers} />}
        {way === 'person' ? <PasswordForm /> : <KeyForm />}
        {hasPeople && (
          <Button variant="quiet" className="w-full" onClick={() => setChosen(way === 'key' ? 'person' : 'key')}>
            {way === 'key' ? 'Use your email address' : 'Use an API key'}
          </Button>
        )}
      </div>
      <p className="mt-4 text-xs text-soft">
        {way === 'key'
          ? 'Your key is not stored in the browser. A cookie that scripts cannot read keeps you signed in until 12 hours after your last use, with the permissions of the key. If you lost every admin key, start the platform once with QM_ADMIN_KEY set to a key of your choice.'
          : 'You stay signed in until 12 hours after your last use. If you forgot your password, ask an owner for a new link.'}
      </p>
    </Entrance>
  )
}

function useSignIn(how: () => SignInWith) {
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false })
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setState({ busy: true })
    try {
      setSession(await signIn(how()))
      if (location.search.includes('sign_in_error')) history.replaceState(null, '', '/')
    } catch (error) {
      setState({ busy: false, error })
    }
  }
  return { ...state, submit }
}

function PasswordForm() {
  const [draft, setDraft] = useState({ email: '', password: '' })
  const { submit, busy, error } = useSignIn(() => draft)
  const field = (name: keyof typeof draft) => ({
    name,
    required: true,
    value: draft[name],
    onChange: ({ target }: { target: HTMLInputElement }) => setDraft({ ...draft, [name]: target.value }),
  })
  return (
    <form onSubmit={submit} className="space-y-4">
      <TextField label="Email address" type="email" autoComplete="username" autoFocus {...field('email')} />
      <TextField label="Password" type="password" autoComplete="current-password" {...field('password')} />
      <ErrorNotice error={error} />
      <Button variant="main" type="submit" busy={busy} className="w-full py-2">
        Sign in
      </Button>
    </form>
  )
}

function KeyForm() {
  const [key, setKey] = useState('')
  const { submit, busy, error } = useSignIn(() => ({ key }))
  return (
    <form onSubmit={submit} className="space-y-4">
      <TextField
        label="API key"
        type="password"
        name="key"
        autoComplete="current-password"
        placeholder="sk_…"
        mono
        required
        autoFocus
        value={key}
        onChange={(event) => setKey(event.target.value)}
        hint="The admin key was printed when the platform first started. You can create more keys under Access."
      />
      <ErrorNotice error={error} />
      <Button variant="main" type="submit" busy={busy} className="w-full py-2">
        Sign in
      </Button>
    </form>
  )
}

/** Links, because the browser leaves this page. */
function Providers({ providers }: Pick<SignInOptions, 'providers'>) {
  if (providers.length === 0) return null
  const { pathname, search } = location
  const here = search.includes('sign_in_error') ? '/' : `${pathname}${search}`
  return (
    <>
      <ul className="space-y-2">
        {providers.map(({ id, name }) => (
          <li key={id}>
            <a
              href={`/api/v1/dashboard/sso/${id}/start?return_to=${encodeURIComponent(here)}`}
              className={`${buttonClass('plain')} w-full truncate py-2`}
            >
              Continue with {name}
            </a>
          </li>
        ))}
      </ul>
      <p className="flex items-center gap-3 text-xs text-soft before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        or
      </p>
    </>
  )
}

const refusals: Readonly<Record<string, string>> = {
  not_invited: 'You have not been invited yet. Ask an owner of this platform for an invitation.',
  email_not_verified: 'Your company account has no verified email address, so it cannot be matched with an invitation.',
  domain_not_allowed: 'The domain of your email address is not allowed to sign in here.',
  disabled: 'Your account is disabled. Ask an owner of this platform.',
  other_account: 'Your email address is linked to another company account. Ask an owner to invite you again.',
  cancelled: 'The sign-in was cancelled.',
  expired: 'The sign-in took too long, or was started in another browser. Try again.',
  failed:
    'The sign-in failed. Try again, or ask an owner to check the sign-in provider. Details are in the platform’s log.',
}

/** Why a company account could not sign in. Only known reasons are shown, because anyone can write a link. */
function Refusal() {
  const reason = new URLSearchParams(location.search).get('sign_in_error')
  const text = reason !== null && Object.hasOwn(refusals, reason) ? refusals[reason] : undefined
  return text ? <ErrorNotice error={new Error(text)} /> : null
}
