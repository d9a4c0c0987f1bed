import { Link } from '@tanstack/react-router'
import { memo, useState } from 'react'
import { duration } from '../../../format.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { OutputView } from '../../../ui/output.tsx'
import { callState, inShort, problemOf } from '../call-status.ts'
import { Arguments } from './arguments.tsx'
import { RecordedImages } from './recorded-images.tsx'
import type { Call } from './turns.ts'

/** A tool call with its status. The details expand on click. */
export const CallCard = memo(function CallCard({ call, isOver }: { call: Call; isOver: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const isEnded = call.status === 'done' || call.status === 'failed'
  const status = isOver && !isEnded ? 'stopped' : call.status
  const [tone, words] = callState(status)
  const took =
    call.startedAt && call.completedAt ? Date.parse(call.completedAt) - Date.parse(call.startedAt) : undefined
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form
    <div role="group" aria-label={`Call of ${call.name}`} className="min-w-0 rounded-md border border-line bg-panel">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full flex-wrap items-center gap-x-2 gap-y-1 rounded-md px-3 py-2 text-left text-sm hover:bg-hover"
      >
        <Icon name="right" className={`size-3.5 text-soft ${isOpen ? 'rotate-90' : ''}`} />
        <Icon name="tools" className="size-4 text-soft" />
        <span className="font-mono text-xs font-semibold break-all">{call.name}</span>
        <span className="order-last w-full min-w-0 flex-1 basis-full truncate font-mono text-xs text-soft sm:order-none sm:basis-0">
          {inShort(call.args)}
        </span>
        <span className="ml-auto flex items-center gap-2">
          {took !== undefined && <span className="text-xs text-soft tabular-nums">{duration(took)}</span>}
          <Badge tone={tone}>{words}</Badge>
        </span>
      </button>
      {call.status === 'failed' && <Problem output={call.output} />}
      {isOpen && <Whole call={call} isEnded={isEnded} />}
    </div>
  )
})

function Problem({ output }: { output: unknown }) {
  const { code, message } = problemOf(output)
  return (
    <p className="px-3 pb-2 text-sm break-words text-bad">
      {code && <span className="mr-2 font-mono text-xs font-semibold">{code}</span>}
      {message}
    </p>
  )
}

const Whole = ({ call, isEnded }: { call: Call; isEnded: boolean }) => (
  <div className="space-y-3 border-t border-line px-3 py-3">
    <div>
      <h3 className="mb-1">Arguments</h3>
      <Arguments value={call.args} />
    </div>
    <div>
      <h3 className="mb-1">Output</h3>
      {isEnded ? <OutputView value={call.output} /> : <p className="text-sm text-soft">No output yet.</p>}
      {isEnded && call.callId && <RecordedImages callId={call.callId} output={call.output} />}
    </div>
    <p className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      {call.callId && (
        <Link to="/calls/$callId" params={{ callId: call.callId }} className="text-accent hover:underline">
          View call
        </Link>
      )}
      {call.generationId && (
        <Link
          to="/generations/$generationId"
          params={{ generationId: call.generationId }}
          className="text-accent hover:underline"
        >
          View run
        </Link>
      )}
      {call.approvalId && (
        <a href={`/approvals/${call.approvalId}`} className="text-accent hover:underline">
          View approval
        </a>
      )}
    </p>
  </div>
)
