import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, qm, type WorkflowRun } from '../../api.ts'
import { count, duration, moment, plural, when } from '../../format.ts'
import { useVisible } from '../../live.ts'
import { useProjectId } from '../../project.ts'
import type { WorkflowSearch } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { LiveMark } from '../../ui/live.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { rowLink, Table } from '../../ui/table.tsx'
import { RunStatus } from './status.tsx'

const pageSize = 50
const refreshEvery = 2000

/** Runs, newest first. The first page is live. */
export function RunList({ search }: { search: WorkflowSearch }) {
  const projectId = useProjectId()
  const isVisible = useVisible()
  const [at, setAt] = useState({ search, offset: 0 })
  const offset = at.search === search ? at.offset : 0
  const setOffset = (next: number) => setAt({ search, offset: next })
  const isFirst = offset === 0
  const runs = useQuery({
    queryKey: ['workflow-runs', projectId, search, offset],
    queryFn: () => {
      const filter = { ...(projectId && { project_id: projectId }), ...search } as { status?: WorkflowRun['status'] }
      return ask(qm.workflowRuns.listWorkflowRuns({ query: { ...filter, limit: pageSize, offset } }))
    },
    placeholderData: keepPreviousData,
    refetchInterval: isFirst && isVisible ? refreshEvery : false,
  })
  return (
    <Answered query={runs}>
      {({ data, total }) => (
        <>
          <div className="mb-2 flex flex-wrap items-center justify-between gap-2 text-sm text-soft">
            <span role="status">{plural(total, 'run')}</span>
            {isFirst && <LiveMark state={runs.error ? 'waiting' : isVisible ? 'live' : 'off'} />}
          </div>
          {data.length === 0 ? (
            <Empty title="No runs">No workflow has run yet, or none matches these filters.</Empty>
          ) : (
            <RunTable runs={data} />
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
  )
}

/** The step that failed, or the code of the error. */
const placeOf = ({ code, details }: NonNullable<WorkflowRun['error']>): string =>
  typeof details.step === 'string' ? `at ${details.step}` : code

const RunTable = ({ runs }: { runs: readonly WorkflowRun[] }) => (
  <Panel flush>
    <Table
      label="Runs"
      items={runs}
      columns={[
        {
          name: 'Workflow',
          cell: (run) => (
            <>
              <Link to="/workflows/$runId" params={{ runId: run.id }} className={rowLink}>
                {run.name}
              </Link>
              <div className="text-xs text-soft">
                <time dateTime={run.created_at} title={when(run.created_at)}>
                  {moment(run.created_at)}
                </time>
                {run.dry_run && ' · dry run'}
                {run.rerun_of && ' · run again'}
              </div>
            </>
          ),
        },
        {
          name: 'Status',
          cell: ({ status, error }) => (
            <>
              <RunStatus status={status} />
              {error && <div className="mt-0.5 hidden text-xs text-bad md:block">{placeOf(error)}</div>}
            </>
          ),
        },
        { name: 'Kind', wideOnly: true, cell: ({ kind }) => <span className="text-soft">{kind}</span> },
        {
          name: 'Started by',
          wideOnly: true,
          cell: ({ started_by }) => <span className="text-soft">{started_by.name}</span>,
        },
        {
          name: 'Duration',
          wideOnly: true,
          end: true,
          cell: ({ created_at, completed_at }) => (
            <span className="text-soft tabular-nums">
              {completed_at ? duration(Date.parse(completed_at) - Date.parse(created_at)) : '–'}
            </span>
          ),
        },
      ]}
    />
  </Panel>
)
