import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Approval } from '../../api.ts'
import { count, plural } from '../../format.ts'
import { useMedia } from '../../media.ts'
import { usePreference } from '../../preferences.ts'
import { HelpLink } from '../../ui/help-link.tsx'
import { Empty, ErrorNotice, Loading } from '../../ui/notice.tsx'
import { useKeys } from '../../use-keys.ts'
import { Alerts, keysPlace } from './alerts.tsx'
import { Detail } from './detail.tsx'
import { PendingList } from './list.tsx'
import { Sections } from './sections.tsx'
import { usePending } from './use-pending.ts'

/** The pending approvals, and the one that is open. */
export function Inbox() {
  const { approvalId } = useParams({ from: '/approvals/{-$approvalId}' })
  const navigate = useNavigate()
  const pending = usePending()
  // Whether the list and the open approval fit side by side.
  const isWide = useMedia('(min-width: 1024px)')
  const hasKeys = usePreference(keysPlace, true)
  const [message, setMessage] = useState('')
  const detail = useRef<HTMLDivElement>(null)
  const { list, isLoaded, drop } = pending

  // On a wide screen the first approval is open by default, and stays open when others sort before it.
  const [first, setFirst] = useState<string>()
  const chosen = approvalId ?? (isWide ? first : undefined)
  const firstOfAll = list[0]?.id
  useEffect(() => {
    if (approvalId === undefined && first === undefined && firstOfAll !== undefined) setFirst(firstOfAll)
  }, [approvalId, first, firstOfAll])

  // Its last position in the list, used once it has left the list.
  const place = useRef(0)
  const at = list.findIndex(({ id }) => id === chosen)
  if (at >= 0) place.current = at

  const open = (id: string | undefined) => {
    setFirst(id)
    void navigate({
      to: '/approvals/{-$approvalId}',
      params: { approvalId: id },
      replace: approvalId !== undefined || isWide,
      resetScroll: false,
    })
  }
  const move = (step: 1 | -1) => {
    const from = at >= 0 ? at + step : step > 0 ? place.current : place.current - 1
    const next = list[Math.min(Math.max(from, 0), list.length - 1)]
    if (next) open(next.id)
  }
  const onDecided = (decided: Approval, words: string) => {
    setMessage(words)
    if (decided.status === 'pending') return
    const next = list[at + 1] ?? list[at - 1]
    drop(decided.id)
    if (at >= 0) open(isWide ? next?.id : undefined)
  }

  useKeys(
    {
      j: () => move(1),
      k: () => move(-1),
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => {
        if (chosen === undefined) return move(1)
        if (approvalId === undefined) open(chosen)
        detail.current?.focus()
      },
      Escape: () => {
        if (approvalId !== undefined) open(undefined)
      },
    },
    hasKeys,
  )

  const isEmpty = isLoaded && list.length === 0 && chosen === undefined
  const isListShown = isWide || approvalId === undefined
  return (
    <Sections actions={<Alerts />}>
      <p
        role="status"
        className={message === '' ? 'sr-only' : 'mb-3 rounded-md bg-good-wash px-3 py-2 text-sm text-good'}
      >
        {message}
      </p>
      {pending.error ? <ErrorNotice error={pending.error} retry={pending.reload} /> : null}
      <div
        className={isEmpty ? '' : 'lg:grid lg:grid-cols-[minmax(18rem,22rem)_minmax(0,1fr)] lg:items-start lg:gap-4'}
      >
        {isListShown && (
          <div className="min-w-0 lg:sticky lg:top-4">
            {!isLoaded && !pending.error && <Loading />}
            {isLoaded && list.length === 0 && (
              <Empty title="No pending approvals">
                Calls that need approval appear here immediately. Tools, servers and{' '}
                <Link to="/approvals/rules" className="text-accent underline">
                  rules
                </Link>{' '}
                determine which calls need approval. <HelpLink guide="approvals">How approvals work</HelpLink>
              </Empty>
            )}
            {list.length > 0 && (
              <>
                <p className="mb-2 text-sm text-soft">
                  {count(pending.total)} pending
                  {pending.total > 1 && (pending.isWhole ? ', soonest to expire first' : ', newest first')}
                </p>
                <PendingList pending={pending} chosen={chosen} />
                {hasKeys && <Hints />}
              </>
            )}
          </div>
        )}
        <div ref={detail} tabIndex={-1} className="min-w-0 outline-none">
          {!isListShown && (
            <button type="button" onClick={() => open(undefined)} className="mb-3 text-sm text-accent hover:underline">
              ← {list.length > 0 ? `All ${plural(list.length, 'pending call')}` : 'All pending calls'}
            </button>
          )}
          {chosen && <Detail key={chosen} id={chosen} hasKeys={hasKeys} onDecided={onDecided} />}
        </div>
      </div>
    </Sections>
  )
}

const hints = [
  ['j k', 'move'],
  ['a', 'approve'],
  ['r', 'reject'],
  ['e', 'edit'],
  ['Enter', 'open'],
  ['Esc', 'back'],
] as const

const Hints = () => (
  <p className="mt-2 hidden flex-wrap gap-x-3 gap-y-1 text-xs text-soft lg:flex">
    {hints.map(([key, does]) => (
      <span key={key}>
        <kbd className="rounded-sm border border-line bg-panel px-1 font-mono">{key}</kbd> {does}
      </span>
    ))}
  </p>
)
