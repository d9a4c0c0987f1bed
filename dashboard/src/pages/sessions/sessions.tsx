import { Link, useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { moment } from '../../format.ts'
import { useAll } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { type Column, rowLink } from '../../ui/table.tsx'
import { useAction } from '../../use-action.ts'
import { type Agent, useAgents } from '../agents/records.ts'
import { AgentsNav } from '../agents/section.tsx'
import type { Session } from './records.ts'

export function Sessions() {
  const sessions = useAll('sessions', (query) => qm.sessions.listSessions({ query }))
  const { data: agents = [] } = useAgents()
  const navigate = useNavigate()
  const start = useAction((agent_id: string) => ask(qm.sessions.createSession({ body: { agent_id } })), {
    changes: ['sessions'],
    onDone: ({ id }) => void navigate({ to: '/sessions/$sessionId', params: { sessionId: id } }),
  })
  return (
    <>
      <PageHead
        title="Sessions"
        actions={
          agents.length > 0 && (
            <select
              aria-label="Start a session with"
              className="control text-sm"
              value=""
              disabled={start.busy}
              onChange={(event) => start.run(event.target.value)}
            >
              <option value="">Start a session with …</option>
              {agents.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )
        }
      >
        Conversations with agents. Open one to see its events, and what was decided in each turn.
      </PageHead>
      <AgentsNav />
      <Listing
        query={sessions}
        label="Sessions"
        empty={<Empty title="No sessions yet">Start one here, or with POST /sessions.</Empty>}
        columns={columnsFor(agents)}
      />
    </>
  )
}

const columnsFor = (agents: readonly Agent[]): Column<Session>[] => [
  {
    name: 'Session',
    cell: ({ id, title, end_user_id }) => (
      <>
        <Link to="/sessions/$sessionId" params={{ sessionId: id }} className={rowLink}>
          {title ?? end_user_id ?? id}
        </Link>
        <div className="font-mono text-xs break-all text-soft">{id}</div>
      </>
    ),
  },
  {
    name: 'Agent',
    wideOnly: true,
    cell: ({ agent_id }) => agents.find(({ id }) => id === agent_id)?.name ?? agent_id,
  },
  {
    name: 'Status',
    cell: ({ status }) => <Badge tone={status === 'processing' ? 'accent' : 'plain'}>{status}</Badge>,
  },
  { name: 'Events', wideOnly: true, cell: ({ next_offset }) => <span className="tabular-nums">{next_offset}</span> },
  {
    name: 'Started',
    wideOnly: true,
    cell: ({ created_at }) => <span className="text-soft">{moment(created_at)}</span>,
  },
]
