import { ask, qm } from '../../api.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { useAction } from '../../use-action.ts'
import type { Subject } from './connect-link.tsx'

const diagnose = (subject: Subject) => ask(qm.connections.diagnoseConnection({ body: subject }))
type Result = Awaited<ReturnType<typeof diagnose>>

const names: Readonly<Record<Result['steps'][number]['step'], string>> = {
  request: 'Request to the server',
  challenge: 'Challenge',
  resource_metadata: 'Metadata of the server',
  server_metadata: 'Authorization server',
  registration: 'Client',
  authorization: 'Sign-in',
  token: 'Token',
  account: 'Account',
  revocation: 'Revocation',
}

/** A button that tries each step of connecting an account, and what came of it. */
export function Diagnosis({ subject, disabled = false }: { subject: () => Subject; disabled?: boolean }) {
  const action = useAction(diagnose, { changes: ['connections'] })
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-sm text-soft">Tries each step of connecting and using the account.</p>
        <Button busy={action.busy} disabled={disabled} onClick={() => action.run(subject())}>
          Diagnose
        </Button>
      </div>
      <ErrorNotice error={action.error} />
      <div aria-live="polite">{action.data && <Steps result={action.data} />}</div>
    </div>
  )
}

function Steps({ result: { ok, steps, redirect_uri } }: { result: Result }) {
  const last = steps.at(-1)
  return (
    <div className="space-y-3">
      <p className="text-sm">
        {ok || !last ? 'Every step works.' : `Failed: ${names[last.step]}, the last step below.`}
        {!ok && last?.step === 'registration' && (
          <span className="mt-1 block text-soft">
            Redirect URI for a client that you register by hand: <code className="break-all">{redirect_uri}</code>
          </span>
        )}
      </p>
      <ol className="divide-y divide-line rounded-md border border-line">
        {steps.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
          <li key={index} className="space-y-0.5 px-3 py-2 text-sm">
            <div className="flex flex-wrap items-center gap-2">
              <Badge tone={one.ok ? 'good' : 'bad'}>{one.ok ? 'ok' : 'failed'}</Badge>
              <span className="font-medium">{names[one.step]}</span>
            </div>
            <p className="break-words">{one.detail}</p>
            {one.url && (
              <p className="font-mono text-xs break-all text-soft">
                {one.method} {one.url}
                {one.status !== null && ` → ${one.status}`}
              </p>
            )}
          </li>
        ))}
      </ol>
    </div>
  )
}
