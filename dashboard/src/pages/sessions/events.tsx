import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, qm } from '../../api.ts'
import { plural } from '../../format.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Answered } from '../../ui/notice.tsx'
import { JsonView } from '../../ui/text.tsx'
import { Decision } from './decision.tsx'
import type { SessionEvent } from './records.ts'

const tones: Record<string, Tone> = { error: 'bad', cancelled: 'warn', ready: 'good' }

/** The log of a session. What was decided is shown where a turn ends. */
export const Events = ({ events }: { events: readonly SessionEvent[] }) => (
  <ol className="space-y-2 text-sm">
    {events.map((event) => (
      <li key={event.offset} className="flex gap-3">
        <span className="w-8 shrink-0 text-right text-xs text-soft tabular-nums">{event.offset}</span>
        <div className="min-w-0 flex-1">
          <Content event={event} />
        </div>
      </li>
    ))}
  </ol>
)

function Content({ event }: { event: SessionEvent }) {
  switch (event.kind) {
    case 'message':
      return (
        <p className="rounded-md bg-sunken px-3 py-2 break-words whitespace-pre-wrap">
          <span className="mr-2 text-xs font-medium text-soft">{event.source}</span>
          {event.message}
        </p>
      )
    case 'tool':
      return <ToolResult event={event} />
    case 'status':
      return (
        <>
          <Badge tone={tones[event.status ?? ''] ?? 'plain'}>{event.status}</Badge>
          {event.error && <span className="ml-2 text-xs break-words text-bad">{event.error.message}</span>}
          {event.status === 'ready' && event.generation_id && <Turn id={event.generation_id} />}
        </>
      )
    default:
      return <JsonView value={event.data} name="event.json" />
  }
}

function ToolResult({ event }: { event: SessionEvent }) {
  return (
    <details className="rounded-md border border-line px-3 py-2">
      <summary className="cursor-pointer">
        <code className="font-mono text-xs break-all">{event.tool_id}</code>{' '}
        <Badge tone={event.is_error ? 'bad' : 'plain'}>{event.is_error ? 'failed' : event.source}</Badge>
      </summary>
      <div className="mt-2 space-y-2">
        <JsonView value={event.arguments} name="arguments.json" />
        <JsonView value={event.result} name="result.json" />
      </div>
    </details>
  )
}

/** Which policies and nodes applied in the steps of a turn, and why. */
function Turn({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false)
  const generation = useQuery({
    queryKey: ['generation-detail', id],
    enabled: isOpen,
    queryFn: () => ask(qm.agents.getGeneration({ path: { generation_id: id } })),
  })
  return (
    <>
      <Button className="ml-2 px-2 py-0.5 text-xs" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Decisions
      </Button>
      <Link
        to="/generations/$generationId"
        params={{ generationId: id }}
        className="ml-2 text-xs text-accent underline"
      >
        Run
      </Link>
      {isOpen && (
        <div className="mt-2 space-y-3">
          <Answered query={generation}>
            {({ step_list }) => (
              <>
                <p className="text-xs text-soft">{plural(step_list.length, 'step')}</p>
                {step_list.map(({ number, guide }) => (
                  <Decision key={number} step={number} decision={guide} />
                ))}
              </>
            )}
          </Answered>
        </div>
      )}
    </>
  )
}
