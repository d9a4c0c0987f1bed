import { useState } from 'react'
import { ask, qm, type Server } from '../../api.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { TextArea } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'

/** The results of RESOLVE_ACTIONS, with the features of each score. */
export function Find({ server }: { server: Server }) {
  const [text, setText] = useState('')
  const find = useAction(() =>
    ask(
      qm.servers.resolveActions({
        path: { server_id: server.id },
        body: {
          integration_query: text
            .split('\n')
            .map((line) => line.trim())
            .filter(Boolean),
        },
      }),
    ),
  )
  return (
    <div className="max-w-3xl space-y-4">
      <Panel title="Test the action search">
        <form
          className="space-y-3"
          onSubmit={(event) => {
            event.preventDefault()
            find.run()
          }}
        >
          <TextArea
            label="Request"
            rows={3}
            required
            placeholder="Send a message in Slack"
            hint="One request per line: what to do, and with which app. Enter searches, Shift+Enter starts a new line"
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
              event.preventDefault()
              event.currentTarget.form?.requestSubmit()
            }}
          />
          <ErrorNotice error={find.error} />
          <Button variant="main" type="submit" busy={find.busy} disabled={text.trim() === ''}>
            Find actions
          </Button>
        </form>
      </Panel>
      <div aria-live="polite" className="space-y-4">
        {find.data?.results.map(({ query, candidates }) => (
          <Panel key={query} title={`“${query}”`} flush>
            {candidates.length === 0 && <p className="px-4 py-3 text-sm text-soft">No matching actions.</p>}
            <ol>
              {candidates.map((candidate) => (
                <li
                  key={`${candidate.slug} ${candidate.identifier}`}
                  className="border-b border-line px-4 py-2 last:border-0"
                >
                  <details>
                    <summary className="flex flex-wrap items-center gap-2 text-sm">
                      <span className="w-12 font-mono text-xs tabular-nums">{candidate.score.toFixed(2)}</span>
                      <code className="font-mono text-sm font-medium break-all">{candidate.identifier}</code>
                      <Badge>{candidate.slug}</Badge>
                      {candidate.score >= 0.5 && <Badge tone="good">match</Badge>}
                      <span className="ml-auto text-xs text-accent">Why</span>
                    </summary>
                    <dl className="mt-2 grid grid-cols-2 gap-x-6 gap-y-0.5 text-xs sm:grid-cols-3">
                      {Object.entries(candidate.features)
                        .filter(([, value]) => value !== 0)
                        .map(([name, value]) => (
                          <div key={name} className="flex justify-between gap-2">
                            <dt className="text-soft">{name}</dt>
                            <dd className="tabular-nums">{value.toFixed(2)}</dd>
                          </div>
                        ))}
                    </dl>
                  </details>
                </li>
              ))}
            </ol>
          </Panel>
        ))}
      </div>
    </div>
  )
}
