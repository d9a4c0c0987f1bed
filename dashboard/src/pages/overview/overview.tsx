import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useRef } from 'react'
import { ask, qm } from '../../api.ts'
import { count, duration, plural } from '../../format.ts'
import { useCallStream } from '../../live.ts'
import { usePendingCount } from '../../pending-approvals.ts'
import { useProjectId } from '../../project.ts'
import { useServers, useTools } from '../../queries.ts'
import { buttonClass } from '../../ui/button.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { LiveMark } from '../../ui/live.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { CallRows } from '../calls/rows.tsx'
import { CallsChart, LatencyChart, MinutesTable } from './charts.tsx'
import { errorRate, everyMinute, type Stats } from './minutes.ts'
import { Upstreams } from './upstreams.tsx'

/** The minimum time between two reloads of the numbers. */
const reloadMs = 2000

export function Overview() {
  const queries = useQueryClient()
  const projectId = useProjectId()
  const query = projectId ? { project_id: projectId } : {}
  const stats = useQuery({
    queryKey: ['overview', 'stats', projectId],
    queryFn: () => ask(qm.calls.getCallStats({ query })),
    refetchInterval: 30_000,
  })
  const latest = useQuery({
    queryKey: ['overview', 'latest', projectId],
    queryFn: () => ask(qm.calls.listCalls({ query: { ...query, limit: 8 } })),
    refetchInterval: 30_000,
  })
  const due = useRef<ReturnType<typeof setTimeout>>(undefined)
  const live = useCallStream(query, () => {
    due.current ??= setTimeout(() => {
      due.current = undefined
      void queries.invalidateQueries({ queryKey: ['overview'] })
    }, reloadMs)
  })

  return (
    <>
      <PageHead title="Overview" actions={<LiveMark state={live} />}>
        The last hour
      </PageHead>
      <div className="space-y-4">
        {latest.data?.total === 0 ? (
          <FirstSteps />
        ) : (
          <Answered query={stats}>{(numbers) => <Numbers stats={numbers} />}</Answered>
        )}
        <Upstreams />
        {latest.data && latest.data.total > 0 && (
          <Panel
            title="Latest calls"
            flush
            aside={
              <Link to="/calls" className="text-sm text-accent hover:underline">
                All calls
              </Link>
            }
          >
            <CallRows calls={latest.data.data} />
          </Panel>
        )}
      </div>
    </>
  )
}

function Numbers({ stats }: { stats: Stats }) {
  const minutes = everyMinute(stats)
  const recent = minutes.slice(-5).reduce((sum, { total }) => sum + total, 0)
  const rate = errorRate(stats)
  return (
    <>
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line lg:grid-cols-5">
        <Waiting />
        <Figure name="Calls" value={count(stats.total)}>
          {`${count(recent)} in the last 5 min`}
          {!stats.complete && '. Older calls are not counted'}
        </Figure>
        <Figure
          name="Failed"
          value={rate === null ? '–' : `${(rate * 100).toFixed(rate < 0.1 ? 1 : 0)} %`}
          bad={rate !== null && rate >= 0.05}
        >
          {`${count(stats.failed)} of ${count(stats.executed)} executed; ${count(stats.refused)} refused`}
        </Figure>
        <Figure name="Latency p50" value={duration(stats.p50_ms)}>
          median of executed calls
        </Figure>
        <Figure name="Latency p95" value={duration(stats.p95_ms)}>
          of executed calls
        </Figure>
      </dl>
      <div className="grid gap-4 lg:grid-cols-2">
        <Panel title="Calls per minute">
          <CallsChart minutes={minutes} />
          <MinutesTable minutes={minutes} />
        </Panel>
        <Panel title="Latency">
          <LatencyChart minutes={minutes} />
          <p className="mt-3 text-xs text-soft">
            {stats.waited.total === 0
              ? 'Executed calls, from request to response.'
              : `Excludes waiting for approval: ${plural(stats.waited.total, 'call')} waited, median ${duration(stats.waited.p50_ms)}.`}
          </p>
        </Panel>
      </div>
    </>
  )
}

/** The number of pending approvals, with a link to them. */
function Waiting() {
  const waiting = usePendingCount() ?? 0
  return (
    <div
      className={`relative col-span-2 px-4 py-3 lg:col-span-1 ${waiting > 0 ? 'bg-accent-wash' : 'bg-panel hover:bg-hover'}`}
    >
      <dt className="text-xs font-medium text-soft">Pending approvals</dt>
      <dd>
        <div className={`text-xl font-semibold tracking-tight tabular-nums ${waiting > 0 ? 'text-accent' : ''}`}>
          {count(waiting)}
        </div>
        <div className="text-xs text-soft">
          <Link
            to="/approvals/{-$approvalId}"
            params={{ approvalId: undefined }}
            className="after:absolute after:inset-0 hover:text-accent"
          >
            {waiting > 0 ? 'Review now' : 'Open approvals'}
          </Link>
        </div>
      </dd>
    </div>
  )
}

const Figure = ({
  name,
  value,
  bad = false,
  children,
}: {
  name: string
  value: string
  bad?: boolean
  children: ReactNode
}) => (
  <div className="bg-panel px-4 py-3">
    <dt className="text-xs font-medium text-soft">{name}</dt>
    <dd>
      <div className={`text-xl font-semibold tracking-tight tabular-nums ${bad ? 'text-bad' : ''}`}>{value}</div>
      <div className="text-xs text-soft">{children}</div>
    </dd>
  </div>
)

/** The first steps on an empty platform. */
function FirstSteps() {
  const { data: tools = [] } = useTools()
  const { data: servers = [] } = useServers()
  if (tools.length === 0) {
    return (
      <Empty
        title="No tools yet"
        action={
          <>
            <Link to="/tools/new" className={buttonClass('main')}>
              Create a tool
            </Link>
            <Link to="/tools" search={{ import: true }} className={buttonClass()}>
              Import MCP servers
            </Link>
          </>
        }
      >
        A tool is anything an agent can use: an HTTP endpoint, an MCP server or a function of your own application.
        Create one, try it, then connect a client. <HelpLink guide="first-tool">Guide</HelpLink>
      </Empty>
    )
  }
  return (
    <Empty
      title="No calls yet"
      action={
        <Link to={servers.length === 0 ? '/servers/new' : '/servers'} className={buttonClass('main')}>
          {servers.length === 0 ? 'Create an MCP server' : 'Connect a client'}
        </Link>
      }
    >
      {servers.length === 0
        ? 'Create a server to offer your tools to MCP clients.'
        : 'Open your server for setup instructions. Calls appear here as they happen.'}
    </Empty>
  )
}
