import { type FormEvent, useState } from 'react'
import { signIn } from '../api.ts'
import { become } from '../queries.ts'
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
      become(await signIn(key))
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
          <p className="text-sm text-soft">Tools for AI agents, issued and accounted for</p>
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
          hint="The first admin key was printed when the platform started for the first time. Further keys are made under Access."
        />
        <ErrorNotice error={state.error} />
        <Button look="main" type="submit" busy={state.busy} className="w-full py-2">
          Sign in
        </Button>
      </form>
      <p className="mt-4 text-xs text-soft">
        The key is checked once and not kept here: a cookie that scripts cannot read stands for it, for twelve hours
        after its last use. What you may do here is what the key may do.
      </p>
    </main>
  )
}
