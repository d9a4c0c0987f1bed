import { type FormEvent, useState } from 'react'
import { signIn } from '../api.ts'
import { setSession } from '../queries.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { ErrorNotice } from '../ui/notice.tsx'

export function SignIn() {
  const [key, setKey] = useState('')
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false })

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setState({ busy: true })
    try {
      setSession(await signIn(key))
    } catch (error) {
      setState({ busy: false, error })
    }
  }

  return (
    <main className="mx-auto flex min-h-dvh max-w-sm flex-col justify-center px-4 py-10">
      <div className="mb-6 flex items-center gap-3">
        <img src="/icon.svg" alt="" className="size-9" />
        <div>
          <h1>Quartermaster</h1>
          <p className="text-sm text-soft">The tool platform for AI agents</p>
        </div>
      </div>
      <form onSubmit={submit} className="space-y-4 rounded-lg border border-line bg-panel p-4">
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
        <ErrorNotice error={state.error} />
        <Button variant="main" type="submit" busy={state.busy} className="w-full py-2">
          Sign in
        </Button>
      </form>
      <p className="mt-4 text-xs text-soft">
        Your key is not stored in the browser. A cookie that scripts cannot read keeps you signed in until 12 hours
        after your last use, with the permissions of the key.
      </p>
    </main>
  )
}
