import { useParams } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { ask, qm } from '../../api.ts'
import { exactly } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { LiveMark } from '../../ui/live.tsx'
import { Answered, Empty, ErrorNotice } from '../../ui/notice.tsx'
import { Facts, PageHead, Panel } from '../../ui/panel.tsx'
import { JsonView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'
import { useAgents } from '../agents/records.ts'
import { Events } from './events.tsx'
import { type Session as Record, useEvents, useRoutines, useSession } from './records.ts'
import { RoutineGraph } from './routine-graph.tsx'

export function Session() {
  const { sessionId } = useParams({ from: '/sessions/$sessionId' })
  const session = useSession(sessionId)
  return <Answered query={session}>{(record) => <Whole session={record} />}</Answered>
}

function Whole({ session }: { session: Record }) {
  const events = useEvents(session.id)
  const { data: agents = [] } = useAgents()
  const agent = agents.find(({ id }) => id === session.agent_id)
  const { data: routines = [] } = useRoutines(agent?.id, agent?.has_guide ?? false)
  return (
    <>
      <PageHead title={session.title ?? agent?.name ?? 'Session'}>
        <Badge tone={session.status === 'processing' ? 'accent' : 'plain'}>{session.status}</Badge>{' '}
        <code className="ml-1 font-mono text-xs break-all">{session.id}</code>
      </PageHead>
      <div className="grid gap-4 lg:grid-cols-[3fr_2fr]">
        <Panel title="Events" aside={<LiveMark state={events.error ? 'waiting' : 'live'} />}>
          <Answered query={events}>
            {({ data }) =>
              data.length === 0 ? <Empty title="No events yet">Send a message below.</Empty> : <Events events={data} />
            }
          </Answered>
          <Composer sessionId={session.id} />
        </Panel>
        <div className="min-w-0 space-y-4">
          {routines.map((routine) => (
            <Panel key={routine.id} title={routine.title}>
              <RoutineGraph
                routine={routine}
                position={session.routines.find(({ routine_id }) => routine_id === routine.id)}
              />
            </Panel>
          ))}
          <Panel title="Details">
            <Facts
              facts={[
                ['Agent', agent?.name ?? session.agent_id],
                ['End user', session.end_user_id ?? '–'],
                ['Runs as', session.principal.name],
                ['Started', exactly(session.created_at)],
              ]}
            />
          </Panel>
          <Panel title="Metadata">
            <JsonView value={session.metadata} name="metadata.json" />
          </Panel>
        </div>
      </div>
    </>
  )
}

function Composer({ sessionId }: { sessionId: string }) {
  const [message, setMessage] = useState('')
  const send = useAction(
    (text: string) => ask(qm.sessions.sendSessionMessage({ path: { session_id: sessionId }, body: { message: text } })),
    { changes: ['session-events', 'session-record'], onDone: () => setMessage('') },
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (message.trim() !== '') send.run(message.trim())
  }
  return (
    <>
      {send.error && <ErrorNotice error={send.error} />}
      <form onSubmit={submit} className="mt-4 flex items-end gap-2">
        <input
          aria-label="Message"
          className="control"
          placeholder="Write a message as the customer"
          value={message}
          onChange={(event) => setMessage(event.target.value)}
        />
        <Button variant="main" type="submit" busy={send.busy} disabled={message.trim() === ''}>
          Send
        </Button>
      </form>
    </>
  )
}
