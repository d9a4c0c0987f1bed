import { useState } from 'react'
import { ask, qm } from '../../api.ts'
import { duration } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { TextView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'
import type { AiProvider } from '../agents/records.ts'

/** Sends a short test request to the model and shows the result. */
export function TestPanel({ provider }: { provider: AiProvider }) {
  const [model, setModel] = useState('')
  const test = useAction(() =>
    ask(
      qm.aiProviders.testAiProvider({
        path: { ai_provider_id: provider.id },
        body: model.trim() === '' ? {} : { model: model.trim() },
      }),
    ),
  )
  return (
    <Panel title="Test">
      <form
        className="flex flex-wrap items-center gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          test.run()
        }}
      >
        <input
          aria-label="Model to test"
          className="control max-w-64 font-mono text-sm"
          placeholder={provider.default_model ?? (provider.type === 'replay' ? 'any model' : 'Model')}
          value={model}
          onChange={(event) => setModel(event.target.value)}
        />
        <Button type="submit" busy={test.busy}>
          Send test request
        </Button>
      </form>
      <div aria-live="polite" className="mt-3 space-y-2 text-sm empty:hidden">
        {test.busy && <p className="text-soft">Waiting for a response…</p>}
        {!test.busy && <ErrorNotice error={test.error} />}
        {!test.busy && test.data && <Tested result={test.data} />}
      </div>
    </Panel>
  )
}

type Result = Awaited<ReturnType<typeof qm.aiProviders.testAiProvider>>['data'] & {}

const Tested = ({ result }: { result: Result }) =>
  result.ok ? (
    <>
      <p className="break-words">
        <Badge tone="good">working</Badge>{' '}
        <span className="ml-1">
          <code className="font-mono text-xs">{result.model}</code> responded in {duration(result.duration_ms)}:
        </span>
      </p>
      <TextView text={result.text ?? ''} name="answer.txt" />
    </>
  ) : (
    <p className="break-words">
      <Badge tone="bad">not working</Badge>{' '}
      <span className="mx-1 font-mono text-xs font-semibold text-bad">{result.error?.code}</span>
      {result.error?.message}
    </p>
  )
