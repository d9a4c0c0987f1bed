import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { acceptInvitation, findInvited, type Invited } from '../api.ts'
import { setSession } from '../queries.ts'
import { Button } from '../ui/button.tsx'
import { Entrance } from '../ui/entrance.tsx'
import { TextField } from '../ui/field.tsx'
import { ErrorNotice } from '../ui/notice.tsx'
import { useAction } from '../use-action.ts'
import { faultsOf } from '../use-form.ts'

/** Accepts an invitation with a new password. The token is in the fragment of the link. */
export default function Invitation() {
  const [token] = useState(() => location.hash.slice(1))
  const invited = useQuery({ queryKey: ['invitation', token], queryFn: () => findInvited(token), staleTime: Infinity })
  return (
    <Entrance title={invited.data?.has_password ? 'New password' : 'Welcome to Quartermaster'}>
      <div className="rounded-lg border border-line bg-panel p-4">
        <ErrorNotice error={invited.error} />
        {invited.data && <Accept token={token} invited={invited.data} />}
      </div>
      {invited.error && (
        <p className="mt-4 text-sm">
          <a href="/" className="text-accent hover:underline">
            Go to the sign-in page
          </a>
        </p>
      )}
    </Entrance>
  )
}

function Accept({
  token,
  invited: { email, name: given, has_password: isReset },
}: {
  token: string
  invited: Invited
}) {
  const [name, setName] = useState(given)
  const [password, setPassword] = useState('')
  const navigate = useNavigate()
  const accept = useAction(() => acceptInvitation({ token, name: name.trim(), password }), {
    onDone: (session) => {
      setSession(session)
      void navigate({ to: '/', replace: true })
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    accept.run()
  }
  const faultOf = faultsOf(accept.error)
  return (
    <form onSubmit={submit} className="space-y-4">
      <TextField label="Email address" type="email" autoComplete="username" readOnly value={email} />
      {!isReset && (
        <TextField
          label="Your name"
          autoComplete="name"
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={faultOf('name')}
          hint="Shown to others on your decisions and calls"
        />
      )}
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        required
        minLength={12}
        autoFocus
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        error={faultOf('password')}
        hint="At least 12 characters"
      />
      <ErrorNotice error={accept.error} />
      <Button variant="main" type="submit" busy={accept.busy} className="w-full py-2">
        {isReset ? 'Set password' : 'Accept invitation'}
      </Button>
    </form>
  )
}
