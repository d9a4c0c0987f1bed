import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { duration, exactly, plural } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { OutputView } from '../../ui/output.tsx'
import { Facts } from '../../ui/panel.tsx'
import { JsonView, TextView } from '../../ui/text.tsx'
import { callState, inShort, problemOf } from '../agents/call-status.ts'
import { Said } from '../agents/model-text.tsx'
import type { Agent, Step, StepCall, TraceNode } from '../agents/records.ts'
import { money, tokens } from '../agents/usage.ts'
import { useNow } from '../agents/use-now.ts'
import { nameOf } from './generations.tsx'
import { type Row, rowsOf, type Span, spanOf } from './rows.ts'
import { GenerationStatus } from './status.tsx'

const atFirst = 300
const columns = 'md:grid-cols-[minmax(0,22rem)_minmax(0,1fr)_5.5rem]'

/** The timeline of a run. On a phone, each bar is below its name. */
export function Timeline({ trace, agents }: { trace: TraceNode; agents: readonly Agent[] }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [shown, setShown] = useState(atFirst)
  const rows = rowsOf(trace)
  const now = useNow(rows.some(({ to }) => to === undefined))
  const span = spanOf(rows, now)
  const toggle = (key: string) =>
    setOpen((before) => {
      const after = new Set(before)
      if (!after.delete(key)) after.add(key)
      return after
    })
  return (
    <div>
      <Axis span={span} />
      <ol aria-label="Timeline">
        {rows.slice(0, shown).map((row) => (
          <li key={row.key} className="border-b border-line last:border-0">
            <Line
              row={row}
              span={span}
              now={now}
              agents={agents}
              isOpen={open.has(row.key)}
              onToggle={() => toggle(row.key)}
            />
            {open.has(row.key) && (
              <div className="bg-page/60 px-4 py-3">
                <Details row={row} />
              </div>
            )}
          </li>
        ))}
      </ol>
      {rows.length > shown && (
        <div className="flex items-center gap-3 border-t border-line px-4 py-2 text-sm text-soft">
          {plural(rows.length - shown, 'more line')}
          <Button onClick={() => setShown(shown + 500)}>Show more</Button>
        </div>
      )}
    </div>
  )
}

/** Times are stored in whole milliseconds. */
const shortDuration = (milliseconds: number): string =>
  milliseconds < 1 ? '< 1 ms' : milliseconds < 10 ? `${Math.round(milliseconds)} ms` : duration(milliseconds)

const marks = [0, 0.25, 0.5, 0.75, 1]

const Axis = ({ span }: { span: Span }) => (
  <div
    className={`hidden border-b border-line px-4 py-1.5 text-xs text-soft md:grid ${columns} gap-x-3`}
    aria-hidden="true"
  >
    <span />
    <span className="flex justify-between tabular-nums">
      {marks.map((mark) => (
        <span key={mark}>{mark === 0 ? '0' : duration((span.to - span.from) * mark)}</span>
      ))}
    </span>
    <span className="text-right">Duration</span>
  </div>
)

function Line({
  row,
  span,
  now,
  agents,
  isOpen,
  onToggle,
}: {
  row: Row
  span: Span
  now: number
  agents: readonly Agent[]
  isOpen: boolean
  onToggle: () => void
}) {
  const { icon, name, aside, bar } = styleOf(row, agents)
  const whole = span.to - span.from
  const took = (row.to ?? now) - row.from
  const left = ((row.from - span.from) / whole) * 100
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={onToggle}
      className={`grid w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1.5 px-4 py-2 text-left text-sm -outline-offset-2 hover:bg-hover ${columns}`}
    >
      <span
        className="flex min-w-0 items-center gap-1.5"
        style={{ paddingLeft: `${Math.min(row.depth, 8) * 0.75}rem` }}
      >
        <Icon name="right" className={`size-3 text-soft ${isOpen ? 'rotate-90' : ''}`} />
        <Icon name={icon} className="size-3.5 text-soft" />
        {name}
        {aside}
      </span>
      <span className="relative order-last col-span-2 h-3 rounded-sm bg-sunken md:order-none md:col-span-1">
        <span
          className={`absolute inset-y-0 min-w-[3px] rounded-sm ${bar} ${row.to === undefined ? 'motion-safe:animate-pulse' : ''}`}
          style={{ left: `min(${left}%, calc(100% - 3px))`, width: `${Math.max(0, (took / whole) * 100)}%` }}
        />
      </span>
      <span className="text-right text-xs whitespace-nowrap text-soft tabular-nums">
        {row.to === undefined ? `${shortDuration(took)}…` : shortDuration(took)}
      </span>
    </button>
  )
}

interface LineStyle {
  readonly icon: IconName
  readonly name: ReactNode
  readonly aside: ReactNode
  readonly bar: string
}

/** Labels carry the same information as the colours of the bars. */
function styleOf(row: Row, agents: readonly Agent[]): LineStyle {
  if (row.kind === 'generation') {
    return {
      icon: 'agents',
      name: <span className="truncate font-medium">{nameOf(row.node.agent_id, agents)}</span>,
      aside: <GenerationStatus status={row.node.status} />,
      bar: row.node.status === 'failed' ? 'bg-bad' : 'bg-edge/60',
    }
  }
  if (row.kind === 'step') {
    const { number, usage } = row.step
    return {
      icon: 'overview',
      name: <span className="whitespace-nowrap">Step {number}</span>,
      aside: <span className="truncate text-xs text-soft">{usage ? `${tokens(usage)} tokens` : 'model request'}</span>,
      bar: 'bg-accent',
    }
  }
  const status = callStatus(row.call, row.isOver)
  const [tone, words] = callState(status)
  return {
    icon: 'tools',
    name: <code className="max-w-[75%] shrink-0 truncate font-mono text-xs font-semibold">{row.call.tool_name}</code>,
    aside:
      status === 'done' ? (
        <>
          {row.call.approval_id && <Badge>approved</Badge>}
          <span className="truncate font-mono text-xs text-soft">{inShort(row.call.args)}</span>
        </>
      ) : (
        <Badge tone={tone}>{words}</Badge>
      ),
    bar: status === 'failed' ? 'bg-bad' : status.startsWith('awaiting') ? 'bg-warn' : 'bg-ink/70',
  }
}

const callStatus = ({ status }: StepCall, isOver: boolean): string =>
  isOver && status !== 'done' && status !== 'failed' ? 'stopped' : status

function Details({ row }: { row: Row }) {
  if (row.kind === 'generation') return <GenerationDetails node={row.node} />
  if (row.kind === 'step') return <StepDetails step={row.step} />
  return <CallDetails call={row.call} isOver={row.isOver} />
}

const times = (from: string, to: string | null) =>
  [
    ['Started', exactly(from)],
    ['Ended', to ? exactly(to) : 'not yet'],
  ] as const

const GenerationDetails = ({ node }: { node: TraceNode }) => (
  <div className="space-y-3">
    <Facts
      facts={[
        ...times(node.started_at, node.completed_at),
        ['Tokens', tokens(node.usage)],
        ['Cost', money(node.usage.cost) ?? 'unknown: the provider has no prices'],
        [
          'Run',
          <Link
            key="run"
            to="/generations/$generationId"
            params={{ generationId: node.id }}
            className="font-mono text-xs break-all text-accent hover:underline"
          >
            {node.id}
          </Link>,
        ],
      ]}
    />
    {node.error && <Problem code={node.error.code} message={node.error.message} />}
    <Part title="Input">
      <JsonView value={node.input} name="input.json" />
    </Part>
    {node.output && (
      <Part title="Output">
        <Said text={node.output.content} />
      </Part>
    )}
  </div>
)

const StepDetails = ({ step }: { step: Step }) => (
  <div className="space-y-3">
    <Facts
      facts={[
        ...times(step.started_at, step.answered_at),
        ['Model', step.model ?? '–'],
        ...(step.usage
          ? ([
              ['Tokens', tokens(step.usage)],
              ['Cost', money(step.usage.cost) ?? 'unknown'],
            ] as const)
          : []),
        ...(step.finish_reason ? ([['Finish reason', step.finish_reason]] as const) : []),
      ]}
    />
    {step.reasoning && (
      <Part title="Reasoning">
        <Said text={step.reasoning} />
      </Part>
    )}
    <Part title="Text">{step.text ? <Said text={step.text} /> : <p className="text-sm text-soft">No text.</p>}</Part>
  </div>
)

function CallDetails({ call, isOver }: { call: StepCall; isOver: boolean }) {
  const status = callStatus(call, isOver)
  const [tone, words] = callState(status)
  const problem = call.status === 'failed' ? problemOf(call.output) : undefined
  return (
    <div className="space-y-3">
      <Facts
        facts={[
          [
            'Status',
            <Badge key="state" tone={tone}>
              {words}
            </Badge>,
          ],
          ...times(call.started_at, call.completed_at),
          [
            'Call',
            <Link
              key="call"
              to="/calls/$callId"
              params={{ callId: call.call_id }}
              className="font-mono text-xs break-all text-accent hover:underline"
            >
              {call.call_id}
            </Link>,
          ],
          ...(call.approval_id
            ? [
                [
                  'Approval',
                  <a
                    key="approval"
                    href={`/approvals/${call.approval_id}`}
                    className="font-mono text-xs break-all text-accent hover:underline"
                  >
                    {call.approval_id}
                  </a>,
                ] as const,
              ]
            : []),
        ]}
      />
      {problem && <Problem {...problem} />}
      <Part title="Input">
        {typeof call.args === 'string' ? (
          <TextView text={call.args} name="input.txt" />
        ) : (
          <JsonView value={call.args} name="input.json" />
        )}
      </Part>
      <Part title="Output">
        {call.status === 'done' || call.status === 'failed' ? (
          <OutputView value={call.output} />
        ) : (
          <p className="text-sm text-soft">No output.</p>
        )}
      </Part>
    </div>
  )
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <div className="min-w-0">
    <h3 className="mb-1">{title}</h3>
    {children}
  </div>
)

const Problem = ({ code, message }: { code: string | null; message: string }) => (
  <p className="text-sm break-words text-bad">
    {code && <span className="mr-2 font-mono text-xs font-semibold">{code}</span>}
    {message}
  </p>
)
