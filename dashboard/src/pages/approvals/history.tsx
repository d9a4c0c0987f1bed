import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import { type ApprovalSummary, ask, qm } from '../../api.ts'
import { moment, plural, when } from '../../format.ts'
import { useMedia } from '../../media.ts'
import { onApprovals } from '../../pending-approvals.ts'
import { useProjectId } from '../../project.ts'
import { useTools } from '../../queries.ts'
import type { HistorySearch } from '../../router.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { allStatuses, statusTone, statusWord } from './labels.ts'
import { Sections } from './sections.tsx'

const pageSize = 200

/** All approvals, newest first. */
export function History() {
  const search = useSearch({ from: '/approvals/history' })
  const navigate = useNavigate({ from: '/approvals/history' })
  const projectId = useProjectId()
  const { data: tools = [] } = useTools()
  const filter = { ...search, ...(projectId && { project_id: projectId }) } as Record<string, string>
  const pages = useInfiniteQuery({
    queryKey: ['approvals-history', filter],
    initialPageParam: 0,
    queryFn: ({ pageParam }) =>
      ask(qm.approvals.listApprovals({ query: { ...filter, limit: pageSize, offset: pageParam } })),
    getNextPageParam: ({ total, offset, data }) => (offset + data.length < total ? offset + data.length : undefined),
  })
  const { refetch } = pages
  useEffect(() => {
    let due: ReturnType<typeof setTimeout> | undefined
    const stop = onApprovals(() => {
      due ??= setTimeout(() => {
        due = undefined
        void refetch()
      }, 1000)
    })
    return () => {
      stop()
      clearTimeout(due)
    }
  }, [refetch])
  const set = (change: HistorySearch) =>
    navigate({
      search: (before) => Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value)),
      replace: true,
    })

  return (
    <Sections>
      <search aria-label="Approvals" className="mb-3 grid max-w-md grid-cols-2 gap-2">
        <select
          aria-label="Status"
          className={`control text-sm ${search.status ? 'border-accent text-accent' : ''}`}
          value={search.status ?? ''}
          onChange={(event) => set({ status: event.target.value || undefined })}
        >
          <option value="">Status: any</option>
          {allStatuses.map((status) => (
            <option key={status} value={status}>
              {statusWord(status)}
            </option>
          ))}
        </select>
        <select
          aria-label="Tool"
          className={`control text-sm ${search.tool_id ? 'border-accent text-accent' : ''}`}
          value={search.tool_id ?? ''}
          onChange={(event) => set({ tool_id: event.target.value || undefined })}
        >
          <option value="">Tool: any</option>
          {tools.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </search>
      <Answered query={pages}>
        {(data) => {
          const total = data.pages[0]?.total ?? 0
          if (total === 0) {
            return (
              <Empty title="No approvals">
                {Object.keys(search).length > 0
                  ? 'No approvals match these filters.'
                  : 'No call has needed approval yet.'}
              </Empty>
            )
          }
          const known = new Map(data.pages.flatMap((page) => page.data).map((one) => [one.id, one]))
          return (
            <>
              <p role="status" className="mb-2 text-sm text-soft">
                {plural(total, 'approval')}
              </p>
              <Rows
                list={[...known.values()]}
                onEnd={() => pages.hasNextPage && !pages.isFetchingNextPage && void pages.fetchNextPage()}
              />
            </>
          )
        }}
      </Answered>
    </Sections>
  )
}

const columns =
  'grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-4 md:grid-cols-[6.5rem_8rem_minmax(0,1.2fr)_minmax(0,1fr)_minmax(0,1.4fr)]'

function Rows({ list, onEnd }: { list: readonly ApprovalSummary[]; onEnd: () => void }) {
  const scroller = useRef<HTMLDivElement>(null)
  const height = useMedia('(max-width: 767px)') ? 56 : 40
  const rows = useVirtualizer({
    count: list.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 8,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows are measured again when their height changes
  useEffect(() => rows.measure(), [height])
  const visible = rows.getVirtualItems()
  const last = visible.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= list.length - 20) onEnd()
  }, [last, list.length, onEnd])
  return (
    <div className="rounded-lg border border-line bg-panel">
      <div
        aria-hidden="true"
        className={`${columns} hidden border-b border-line py-2 text-xs font-medium text-soft md:grid`}
      >
        {['Requested', 'Status', 'Action', 'Requested by', 'Decided by'].map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      <div ref={scroller} className="max-h-[calc(100dvh-20rem)] min-h-14 overflow-y-auto">
        <ol aria-label="History" className="relative" style={{ height: rows.getTotalSize() }}>
          {visible.map(({ index, start }) => {
            const one = list[index]
            return (
              <li
                key={one?.id ?? index}
                className={`${columns} absolute inset-x-0 border-b border-line hover:bg-hover`}
                style={{ height, transform: `translateY(${start}px)` }}
              >
                {one && <Cells approval={one} />}
              </li>
            )
          })}
        </ol>
      </div>
    </div>
  )
}

const Cells = ({ approval }: { approval: ApprovalSummary }) => (
  <>
    <time
      dateTime={approval.created_at}
      title={when(approval.created_at)}
      className="order-3 text-xs text-soft tabular-nums md:order-none"
    >
      {moment(approval.created_at)}
      <span className="md:hidden"> · {approval.principal.name}</span>
    </time>
    <span className="order-2 flex justify-end md:order-none md:justify-start">
      <Badge tone={statusTone(approval.status)}>{statusWord(approval.status)}</Badge>
    </span>
    <Link
      to="/approvals/{-$approvalId}"
      params={{ approvalId: approval.id }}
      preload={false}
      className="order-1 truncate font-mono text-xs font-medium -outline-offset-2 after:absolute after:inset-0 hover:text-accent md:order-none"
    >
      {approval.action}
    </Link>
    <span className="hidden truncate text-sm text-soft md:block">{approval.principal.name}</span>
    <span className="order-4 truncate text-right text-xs text-soft md:order-none md:text-left md:text-sm">
      {approval.decided_by?.name}
      {approval.reason && <span className="hidden md:inline">: {approval.reason}</span>}
    </span>
  </>
)
