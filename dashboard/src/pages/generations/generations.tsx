import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, qm } from '../../api.ts'
import { count, duration, moment, plural, when } from '../../format.ts'
import { useVisible } from '../../live.ts'
import { useProjectId } from '../../project.ts'
import { Button } from '../../ui/button.tsx'
import { Choice } from '../../ui/choice.tsx'
import { LiveMark } from '../../ui/live.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { rowLink, Table } from '../../ui/table.tsx'
import { type Agent, type Generation, useAgents } from '../agents/records.ts'
import { AgentsNav } from '../agents/section.tsx'
import { money } from '../agents/usage.ts'
import { GenerationStatus, statuses } from './status.tsx'

const pageSize = 50
const refreshEvery = 2000

export function Generations() {
  const search = useSearch({ from: '/generations' })
  const navigate = useNavigate({ from: '/generations' })
  const projectId = useProjectId()
  const isVisible = useVisible()
  const { data: agents = [] } = useAgents()
  const [offset, setOffset] = useState(0)
  const set = (change: typeof search) => {
    setOffset(0)
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  }
  const isFirst = offset === 0
  const generations = useQuery({
    queryKey: ['generations', projectId, search, offset],
    queryFn: () =>
      ask(
        qm.agents.listGenerations({
          query: {
            ...(projectId && { project_id: projectId }),
            ...(search.agent_id && { agent_id: search.agent_id }),
            ...(search.status && { status: search.status as Generation['status'] }),
            limit: pageSize,
            offset,
          },
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: isFirst && isVisible ? refreshEvery : false,
  })
  return (
    <>
      <PageHead title="Generations">Agent runs with their steps, calls and cost.</PageHead>
      <AgentsNav />
      <search aria-label="Generations" className="mb-3 grid grid-cols-2 gap-2 sm:flex">
        <Choice
          className="sm:w-56"
          label="Agent"
          value={search.agent_id}
          options={agents.map(({ id, name }) => [id, name] as const)}
          onChange={(agent_id) => set({ agent_id })}
        />
        <Choice
          className="sm:w-56"
          label="Status"
          value={search.status}
          options={statuses.map(([id, name]) => [id, name] as const)}
          onChange={(status) => set({ status })}
        />
      </search>
      <Answered query={generations}>
        {({ data, total }) => (
          <>
            <div className="mb-2 flex flex-wrap items-center justify-between gap-2 text-sm text-soft">
              <span role="status">{plural(total, 'generation')}</span>
              {isFirst && <LiveMark state={generations.error ? 'waiting' : isVisible ? 'live' : 'off'} />}
            </div>
            {data.length === 0 ? (
              <Empty title="No generations">
                {search.agent_id || search.status
                  ? 'No generations match these filters.'
                  : 'No agent has run yet. Open an agent and chat with it.'}
              </Empty>
            ) : (
              <GenerationTable generations={data} agents={agents} />
            )}
            {total > pageSize && (
              <div className="mt-3 flex items-center justify-between gap-2 text-sm text-soft">
                <Button disabled={isFirst} onClick={() => setOffset(Math.max(0, offset - pageSize))}>
                  Newer
                </Button>
                <span>
                  {count(offset + 1)} to {count(offset + data.length)}
                </span>
                <Button disabled={offset + pageSize >= total} onClick={() => setOffset(offset + pageSize)}>
                  Older
                </Button>
              </div>
            )}
          </>
        )}
      </Answered>
    </>
  )
}

export const nameOf = (agentId: string, agents: readonly Agent[]): string =>
  agents.find(({ id }) => id === agentId)?.name ?? agentId

const GenerationTable = ({ generations, agents }: { generations: readonly Generation[]; agents: readonly Agent[] }) => (
  <Panel flush>
    <Table
      label="Generations"
      items={generations}
      columns={[
        {
          name: 'Agent',
          cell: (run) => (
            <>
              <Link to="/generations/$generationId" params={{ generationId: run.id }} className={rowLink}>
                {nameOf(run.agent_id, agents)}
              </Link>
              <div className="text-xs text-soft">
                <time dateTime={run.started_at} title={when(run.started_at)}>
                  {moment(run.started_at)}
                </time>
                {run.initiator_generation_id && ' · started by an agent'}
                <span className="md:hidden"> · {plural(run.steps, 'step')}</span>
              </div>
            </>
          ),
        },
        {
          name: 'Status',
          cell: ({ status, error }) => (
            <>
              <GenerationStatus status={status} />
              {error && <div className="mt-0.5 hidden font-mono text-xs text-bad md:block">{error.code}</div>}
            </>
          ),
        },
        {
          name: 'Model',
          wideOnly: true,
          cell: ({ model }) => <code className="font-mono text-xs text-soft">{model ?? '–'}</code>,
        },
        {
          name: 'Steps',
          wideOnly: true,
          end: true,
          cell: ({ steps }) => <span className="text-soft tabular-nums">{steps}</span>,
        },
        {
          name: 'Tokens',
          wideOnly: true,
          end: true,
          cell: ({ usage }) => (
            <span className="text-soft tabular-nums">{count(usage.input_tokens + usage.output_tokens)}</span>
          ),
        },
        {
          name: 'Cost',
          wideOnly: true,
          end: true,
          cell: ({ usage }) => <span className="text-soft tabular-nums">{money(usage.cost) ?? '–'}</span>,
        },
        {
          name: 'Duration',
          wideOnly: true,
          end: true,
          cell: ({ started_at, completed_at }) => (
            <span className="text-soft tabular-nums">
              {completed_at ? duration(Date.parse(completed_at) - Date.parse(started_at)) : '–'}
            </span>
          ),
        },
      ]}
    />
  </Panel>
)
