import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type AppDetail, ask, qm } from '../../api.ts'
import { count, duration, plural } from '../../format.ts'
import { useProjectId } from '../../project.ts'
import { useMay } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { Facts, PageHead, Panel } from '../../ui/panel.tsx'
import { rowLink, Table } from '../../ui/table.tsx'
import { Connect } from '../connections/connect.tsx'
import { AppHealth, Credentials } from './apps.tsx'

export function AppPage() {
  const { app: slug } = useParams({ from: '/apps/$app' })
  const projectId = useProjectId()
  const query = projectId ? { project_id: projectId } : {}
  const app = useQuery({
    queryKey: ['apps', slug, projectId],
    queryFn: () => ask(qm.tools.getApp({ path: { app: slug }, query })),
  })
  return <Answered query={app}>{(found) => <Whole key={found.slug} app={found} />}</Answered>
}

function Whole({ app }: { app: AppDetail }) {
  return (
    <>
      <PageHead title={app.slug}>
        {plural(app.actions.length, 'action')} of{' '}
        {app.tools.map(({ id, name }, index) => (
          <span key={id}>
            {index > 0 && ', '}
            <Link to="/tools/$toolId" params={{ toolId: id }} className="text-accent underline">
              {name}
            </Link>
          </span>
        ))}
      </PageHead>
      <div className="space-y-4">
        <div className="grid gap-4 md:grid-cols-2">
          <Panel title="Credentials" aside={<Credentials app={app} />}>
            <Auth app={app} />
            <Accounts slug={app.slug} />
          </Panel>
          <Panel title="Calls, last 24 hours" aside={<AppHealth app={app} />}>
            <Calls slug={app.slug} />
          </Panel>
        </div>
        <Actions app={app} />
      </div>
    </>
  )
}

const Auth = ({ app: { auth } }: { app: AppDetail }) =>
  auth.length === 0 ? (
    <p className="text-sm text-soft">Its tools name no credentials that they need.</p>
  ) : (
    <ul className="space-y-2 text-sm">
      {auth.map((one) => (
        <li key={one.scheme} className="break-words">
          <span className="font-medium">{one.scheme}</span> <Badge>{one.type.replaceAll('_', ' ')}</Badge>{' '}
          {one.configured ? <Badge tone="good">set</Badge> : <Badge tone="warn">not set</Badge>}
          <div className="text-xs text-soft">
            {one.name && `${one.in}: ${one.name}. `}
            {plural(one.actions, 'action')}.{one.scopes.length > 0 && ` Scopes: ${one.scopes.join(', ')}`}
          </div>
        </li>
      ))}
    </ul>
  )

/** How many accounts are connected, and a way to connect one. */
function Accounts({ slug }: { slug: string }) {
  const projectId = useProjectId()
  const [isOpen, setOpen] = useState(false)
  const mayList = useMay('connections:ListConnections')
  const mayConnect = useMay('connections:CreateConnectLink')
  const query = { app: slug, limit: 1, ...(projectId && { project_id: projectId }) }
  const accounts = useQuery({
    queryKey: ['connections', 'app', slug, projectId],
    queryFn: () => ask(qm.connections.listConnections({ query })),
    enabled: mayList,
  })
  return (
    <Row className="mt-3">
      {mayConnect && <Button onClick={() => setOpen(true)}>Connect account</Button>}
      {accounts.data && (
        <Link to="/connections" className="text-sm text-accent hover:underline">
          {plural(accounts.data.total, 'connected account')}
        </Link>
      )}
      {isOpen && <Connect app={slug} onClose={() => setOpen(false)} />}
    </Row>
  )
}

const day = 24 * 60 * 60_000

function Calls({ slug }: { slug: string }) {
  const projectId = useProjectId()
  const stats = useQuery({
    queryKey: ['call-stats', 'app', slug, projectId],
    queryFn: () => {
      const from = new Date(Date.now() - day + 60_000).toISOString()
      return ask(qm.calls.getCallStats({ query: { app: slug, from, ...(projectId && { project_id: projectId }) } }))
    },
  })
  return (
    <Answered query={stats}>
      {({ total, failed, refused, p50_ms, p95_ms }) => (
        <>
          <Facts
            facts={[
              ['Calls', count(total)],
              ['Failed', count(failed)],
              ['Refused', count(refused)],
              [
                'Latency',
                p50_ms === null ? '–' : `${duration(p50_ms)} median, ${duration(p95_ms)} at the 95th percentile`,
              ],
            ]}
          />
          <Link to="/calls" search={{ app: slug }} className="mt-3 inline-block text-sm text-accent hover:underline">
            View calls
          </Link>
        </>
      )}
    </Answered>
  )
}

const maxShown = 300

function Actions({ app }: { app: AppDetail }) {
  const [text, setText] = useState('')
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = app.actions.filter(({ name, title }) =>
    words.every((word) => `${name} ${title ?? ''}`.toLowerCase().includes(word)),
  )
  return (
    <section>
      <input
        type="search"
        aria-label="Search actions"
        placeholder="Name or title"
        className="control mb-3 max-w-sm"
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      {found.length === 0 ? (
        <Empty title="No actions found" />
      ) : (
        <Panel flush>
          <Table
            label="Actions"
            items={found.slice(0, maxShown)}
            columns={[
              {
                name: 'Action',
                cell: ({ name, title, tool_id }) => (
                  <>
                    <Link to="/tools/$toolId" params={{ toolId: tool_id }} className={`${rowLink} break-all`}>
                      {name}
                    </Link>
                    <div className="line-clamp-1 text-xs break-words text-soft">{title}</div>
                  </>
                ),
              },
              {
                name: 'Effect',
                cell: ({ read_only, withheld }) =>
                  withheld ? (
                    <Badge tone="warn">blocked</Badge>
                  ) : read_only ? (
                    <Badge>reads</Badge>
                  ) : (
                    <Badge tone="accent">changes</Badge>
                  ),
              },
              { name: 'Level', wideOnly: true, cell: ({ level }) => <span className="text-soft">{level}</span> },
            ]}
          />
          {found.length > maxShown && (
            <p className="border-t border-line px-4 py-2 text-sm text-soft">
              {plural(found.length - maxShown, 'more action')}. Search to narrow the list.
            </p>
          )}
        </Panel>
      )}
    </section>
  )
}
