import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { ask, type CallSummary, qm } from '../../api.ts'
import { count } from '../../format.ts'
import { useCallStream } from '../../live.ts'
import { useProjectId } from '../../project.ts'
import type { CallSearch } from '../../router.tsx'
import { Button } from '../../ui/button.tsx'
import { LiveMark } from '../../ui/live.tsx'
import { Empty, ErrorNotice, Loading } from '../../ui/notice.tsx'
import { CallCells, columns } from './rows.tsx'
import { SelectCall, type Selected, type Selection, SelectionBar } from './selection.tsx'

const pageSize = 100
/** A browser cannot position rows exactly beyond this. Older calls are found by choosing a time range. */
const maxRows = 400_000
/** The list is reloaded after this many new calls. */
const maxNewCalls = 300

const phone = window.matchMedia('(max-width: 767px)')
const usePhone = () =>
  useSyncExternalStore(
    (listener) => {
      phone.addEventListener('change', listener)
      return () => phone.removeEventListener('change', listener)
    },
    () => phone.matches,
  )

/**
 * Calls, newest first. The list is a snapshot, so that positions in it are stable, and its pages load as they scroll into
 * view. Later calls are added on top.
 */
export function CallList({ search, onClear }: { search: CallSearch; onClear: () => void }) {
  const isFiltered = Object.keys(search).length > 0
  const projectId = useProjectId()
  const [round, setRound] = useState(0)
  const [selected, setSelected] = useState<Selected>()
  const { from, to, ...rest } = search
  const filter = { ...(projectId && { project_id: projectId }), ...rest } as Record<string, string>
  const filterKey = JSON.stringify([filter, from, to, round])

  const first = useQuery({
    queryKey: ['calls', filterKey, 'first'],
    queryFn: () => ask(qm.calls.listCalls({ query: { ...filter, from, to, limit: pageSize } })),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  })
  const newest = first.data?.data[0]
  // Up to and including the newest call of the first page, by the clock of the platform.
  const until = to ?? (newest && new Date(Date.parse(newest.created_at) + 1).toISOString())

  const { fresh, updates, isPaused, setPaused, state } = useFresh(filter, filterKey, !to && !first.isPlaceholderData)
  // A call that started before the list was loaded is already in it.
  const added = useMemo(() => {
    const known = new Set(first.data?.data.map(({ id }) => id))
    const last = first.data?.data[0]?.id ?? ''
    return fresh.filter(({ id }) => !known.has(id) && id > last)
  }, [fresh, first.data])
  const shown = isPaused ? none : added
  useEffect(() => {
    if (added.length > maxNewCalls && !isPaused) setRound((now) => now + 1)
  }, [added.length, isPaused])

  if (first.error) return <ErrorNotice error={first.error} retry={() => first.refetch()} />
  if (!first.data) return <Loading />
  const total = first.data.total
  return (
    <div>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2 text-sm text-soft">
        <span role="status">
          {count(total + shown.length)} {total + shown.length === 1 ? 'call' : 'calls'}
          {total > maxRows && `. The newest ${count(maxRows)} are listed; choose a time range to see others`}
        </span>
        {!to && (
          <span className="flex items-center gap-3">
            {isPaused && added.length > 0 && <span>{count(added.length)} new</span>}
            <LiveMark state={isPaused ? 'off' : state} />
            <Button onClick={() => setPaused(!isPaused)}>{isPaused ? 'Resume' : 'Pause'}</Button>
          </span>
        )}
      </div>
      {total + shown.length > 0 && <SelectionBar selected={selected} onChange={setSelected} />}
      {total + shown.length === 0 ? (
        <Empty title="No calls" action={isFiltered && <Button onClick={onClear}>Clear filters</Button>}>
          {isFiltered
            ? 'No calls match these filters.'
            : 'No tool has been called yet. Try a tool on its page, or connect a client to a server.'}
        </Empty>
      ) : (
        <Rows
          key={filterKey}
          total={Math.min(total, maxRows)}
          added={shown}
          updates={updates}
          firstPage={first.data.data}
          selection={selected && { selected, onChange: setSelected }}
          load={(offset) => ({
            queryKey: ['calls', filterKey, until, offset],
            queryFn: () => ask(qm.calls.listCalls({ query: { ...filter, from, to: until, limit: pageSize, offset } })),
            staleTime: Number.POSITIVE_INFINITY,
            gcTime: 60_000,
          })}
        />
      )}
    </div>
  )
}

/** Calls since the list was loaded, newest first, and updates to calls in the list. */
function useFresh(filter: Record<string, string>, key: string, isWanted: boolean) {
  const [received, setReceived] = useState<{ key: string; calls: ReadonlyMap<string, CallSummary> }>({
    key,
    calls: new Map(),
  })
  const [isPaused, setPaused] = useState(false)
  const calls = received.key === key ? received.calls : noCalls
  const receive = (arrived: readonly CallSummary[]) =>
    setReceived((now) => {
      const next = new Map(now.key === key ? now.calls : noCalls)
      for (const call of arrived) next.set(call.id, call)
      return { key, calls: next }
    })
  const state = useCallStream(filter, receive, isWanted)
  // Loads calls from between loading the list and opening the stream.
  useQuery({
    queryKey: ['calls', key, 'gap'],
    enabled: state === 'live',
    staleTime: 0,
    queryFn: async () => {
      const { data } = await ask(qm.calls.listCalls({ query: { ...filter, limit: 50 } }))
      receive(data)
      return data.length
    },
  })
  const fresh = useMemo(() => [...calls.values()].sort((a, b) => (a.id < b.id ? 1 : -1)), [calls])
  return { fresh, updates: calls, isPaused, setPaused, state }
}

const noCalls: ReadonlyMap<string, CallSummary> = new Map()
const none: readonly CallSummary[] = []

interface RowsProps {
  readonly total: number
  /** New calls, shown above the list. */
  readonly added: readonly CallSummary[]
  readonly updates: ReadonlyMap<string, CallSummary>
  readonly firstPage: readonly CallSummary[]
  readonly selection: Selection | undefined
  load(offset: number): {
    queryKey: unknown[]
    queryFn: () => Promise<{ data: CallSummary[] }>
    staleTime: number
    gcTime: number
  }
}

function Rows({ total, added, updates, firstPage, selection, load }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const height = usePhone() ? 56 : 36
  const rows = useVirtualizer({
    count: total + added.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 8,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows are measured again when their height changes
  useEffect(() => rows.measure(), [height])
  const visible = rows.getVirtualItems()

  const isMoving = rows.isScrolling
  const offsets = useMemo(() => {
    const places = visible.map(({ index }) => index - added.length).filter((place) => place >= pageSize)
    return [...new Set(places.map((place) => Math.floor(place / pageSize) * pageSize))]
  }, [visible, added.length])
  const pages = useQueries({
    // Load pages only where scrolling stops.
    queries: offsets.map((offset) => ({ ...load(offset), enabled: !isMoving })),
  })
  const callAt = (index: number): CallSummary | undefined => {
    const place = index - added.length
    if (place < 0) return added[index]
    const start = Math.floor(place / pageSize) * pageSize
    const page = start === 0 ? firstPage : pages[offsets.indexOf(start)]?.data?.data
    const call = page?.[place - start]
    return call && (updates.get(call.id) ?? call)
  }
  const failure = pages.find(({ error }) => error)

  return (
    <div className="rounded-lg border border-line bg-panel">
      <div
        aria-hidden="true"
        className={`${columns} hidden border-b border-line py-2 text-xs font-medium text-soft md:grid`}
      >
        {['Time', 'Status', 'Action', 'Caller', 'Surface'].map((name) => (
          <span key={name}>{name}</span>
        ))}
        <span className="text-right">Duration</span>
      </div>
      {failure && <ErrorNotice error={failure.error} retry={() => failure.refetch()} />}
      <div ref={scroller} className="h-[calc(100dvh-21rem)] md:h-[calc(100dvh-22rem)] min-h-80 overflow-y-auto">
        <ol aria-label="Calls" className="relative" style={{ height: rows.getTotalSize() }}>
          {visible.map(({ index, start }) => {
            const call = callAt(index)
            return (
              <li
                key={index}
                aria-setsize={total + added.length}
                aria-posinset={index + 1}
                className={`${columns} absolute inset-x-0 border-b border-line hover:bg-hover ${selection ? 'pl-11' : ''}`}
                style={{ height, transform: `translateY(${start}px)` }}
              >
                {call ? <CallCells call={call} /> : <span className="text-xs text-soft">…</span>}
                {call && selection && <SelectCall call={call} selection={selection} />}
              </li>
            )
          })}
        </ol>
      </div>
    </div>
  )
}
