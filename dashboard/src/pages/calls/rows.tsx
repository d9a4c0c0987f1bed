import { useRouter } from '@tanstack/react-router'
import { type MouseEvent, memo } from 'react'
import type { CallSummary } from '../../api.ts'
import { duration, moment, when } from '../../format.ts'
import { Status } from '../../ui/badge.tsx'

export const columns =
  'grid grid-cols-[1fr_auto] gap-x-3 md:grid-cols-[6.5rem_7rem_minmax(0,1fr)_minmax(0,10rem)_4.5rem_5.5rem] items-center px-4'

/** The name of the action, or the best available substitute. */
export const nameOf = ({ action, tool, tool_id }: CallSummary): string => action ?? tool ?? tool_id ?? 'unknown tool'

/** The router’s Link computes its location on every render, which is too slow for a scrolling list. */
function CallLink({ call }: { call: CallSummary }) {
  const router = useRouter()
  const open = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void router.navigate({ to: '/calls/$callId', params: { callId: call.id } })
  }
  return (
    <a
      href={`/calls/${call.id}`}
      onClick={open}
      className="order-1 truncate font-mono text-xs font-medium -outline-offset-2 after:absolute after:inset-0 hover:text-accent md:order-none"
    >
      {nameOf(call)}
    </a>
  )
}

/** One call in one line, or two lines on a phone. */
export const CallCells = memo(({ call }: { call: CallSummary }) => (
  <>
    <time
      dateTime={call.created_at}
      title={when(call.created_at)}
      className="order-3 text-xs text-soft tabular-nums md:order-none"
    >
      {moment(call.created_at)}
      <span className="md:hidden"> · {call.principal.name}</span>
    </time>
    <span className="order-2 flex justify-end md:order-none md:justify-start">
      <Status status={call.status} />
    </span>
    <CallLink call={call} />
    <span className="hidden truncate text-sm text-soft md:block">{call.principal.name}</span>
    <span className="hidden text-xs text-soft md:block">{call.surface}</span>
    <span className="order-4 text-right text-xs text-soft tabular-nums md:order-none">
      {duration(call.duration_ms)}
    </span>
  </>
))

/** A short list of calls without virtual scrolling. */
export const CallRows = ({ calls }: { calls: readonly CallSummary[] }) => (
  <ul>
    {calls.map((call) => (
      <li key={call.id} className={`${columns} relative border-b border-line py-2 last:border-0 hover:bg-hover`}>
        <CallCells call={call} />
      </li>
    ))}
  </ul>
)
