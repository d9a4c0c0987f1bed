import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import { type Approval, type ApprovalSummary, ask, qm } from '../../api.ts'
import { type Argument, argumentLines } from './arguments-line.ts'
import { Countdown } from './countdown.tsx'
import { approvedBy, gateInShort, throughWhat } from './labels.ts'
import type { Pending } from './use-pending.ts'

const height = 92

/** The pending calls, one of which is open. Renders only the rows in view. */
export function PendingList({ pending, chosen }: { pending: Pending; chosen: string | undefined }) {
  const { list, total, loadMore } = pending
  const scroller = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 6,
  })
  const visible = rows.getVirtualItems()
  const last = visible.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= list.length - 20 && list.length < total) loadMore()
  }, [last, list.length, total, loadMore])

  const shown = visible.flatMap(({ index }) => list[index] ?? [])
  const lines = useArguments(shown, rows.isScrolling)

  const at = list.findIndex(({ id }) => id === chosen)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when the selection moves, not when the list grows
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at, { align: 'auto' })
  }, [chosen])

  return (
    <div
      ref={scroller}
      className="max-h-[calc(100dvh-15rem)] min-h-18 overflow-y-auto rounded-lg border border-line bg-panel lg:max-h-[calc(100dvh-13.5rem)]"
    >
      <ol aria-label="Pending approvals" className="relative" style={{ height: rows.getTotalSize() }}>
        {visible.map(({ index, start }) => {
          const approval = list[index]
          return (
            <li
              key={approval?.id ?? index}
              aria-setsize={total}
              aria-posinset={index + 1}
              className="absolute inset-x-0 border-b border-line"
              style={{ height, transform: `translateY(${start}px)` }}
            >
              {approval ? (
                <Row approval={approval} isChosen={approval.id === chosen} args={lines.get(approval.id)} />
              ) : (
                <span className="block p-4 text-xs text-soft">…</span>
              )}
            </li>
          )
        })}
      </ol>
    </div>
  )
}

/** Loads the arguments of the rows in view when scrolling stops. Lists do not include arguments, because they may be large. */
function useArguments(shown: readonly ApprovalSummary[], isScrolling: boolean) {
  const approvals = useQueries({
    queries: shown.map(({ id }) => ({
      queryKey: ['approval', id],
      enabled: !isScrolling,
      staleTime: 5 * 60_000,
      queryFn: () => ask<Approval>(qm.approvals.getApproval({ path: { approval_id: id } })),
    })),
    combine: (answers) => answers.flatMap(({ data }) => data ?? []),
  })
  return useMemo(
    () => argumentLines(approvals.map((one) => ({ ...one, input: one.edited_input ?? one.input }))),
    [approvals],
  )
}

const Row = ({
  approval,
  isChosen,
  args = [],
}: {
  approval: ApprovalSummary
  isChosen: boolean
  args: readonly Argument[] | undefined
}) => (
  <Link
    to="/approvals/{-$approvalId}"
    params={{ approvalId: approval.id }}
    replace={isChosen}
    preload={false}
    resetScroll={false}
    data-chosen={isChosen || undefined}
    aria-current={isChosen ? 'true' : undefined}
    className="flex h-full flex-col justify-center border-l-2 border-transparent px-3 -outline-offset-2 hover:bg-hover data-chosen:border-accent data-chosen:bg-accent-wash"
  >
    <span className="flex items-center justify-between gap-2">
      <span className="truncate font-mono text-xs font-semibold">{approval.action}</span>
      <Countdown until={approval.expires_at} />
    </span>
    <span data-testid="arguments" className="truncate font-mono text-xs text-soft">
      {args.map(({ name, value, differs }, index) => (
        <span key={name}>
          {index > 0 && ' · '}
          {differs ? (
            <mark className="rounded-sm bg-warn-wash px-0.5 font-semibold text-warn">
              {name}: {value}
            </mark>
          ) : (
            `${name}: ${value}`
          )}
        </span>
      ))}
      {args.length === 0 && <span>&nbsp;</span>}
    </span>
    <span className="truncate text-sm">
      {approval.principal.name} <span className="text-soft">via {throughWhat(approval)}</span>
    </span>
    <span className="truncate text-xs text-soft">
      {approval.approvals_needed > 1 && `${approvedBy(approval).length} of ${approval.approvals_needed} people · `}
      {approval.why.map(gateInShort).join(', ')}
    </span>
  </Link>
)
