import type { WorkflowStep } from '../../api.ts'
import { duration } from '../../format.ts'
import { compensationOf, type DefinedStep, marksOf, sourcesOf } from './definition.ts'

const width = 260
const height = 62
const gap = 26
const side = 70
const sideWidth = 190

type Shown = Pick<WorkflowStep, 'id' | 'status' | 'started_at' | 'completed_at'>

const shapes: Record<string, string> = {
  running: 'fill-accent-wash stroke-accent',
  waiting: 'fill-warn-wash stroke-warn',
  done: 'fill-good-wash stroke-good',
  simulated: 'fill-sunken stroke-good',
  failed: 'fill-bad-wash stroke-bad',
  skipped: 'fill-sunken stroke-line',
}

const short = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text)

/** The steps of a workflow from top to bottom, with the state of a run if there is one. */
export function WorkflowGraph({
  name,
  steps,
  run = [],
}: {
  name: string
  steps: readonly DefinedStep[]
  run?: readonly Shown[]
}) {
  const topOf = (index: number) => index * (height + gap)
  const stateOf = (id: string) => run.find((step) => step.id === id)
  const hasSide = steps.some((step) => compensationOf(step) !== undefined)
  const right = width + side + (hasSide ? sideWidth : 0)
  const bottom = topOf(steps.length - 1) + height
  const described = steps.map(({ id }) => [id, stateOf(id)?.status].filter(Boolean).join(' ')).join(', ')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <section className="overflow-auto" tabIndex={0} aria-label={`Graph of ${name}`}>
      <svg
        role="img"
        aria-label={`${name}: ${described}`}
        width={right + 4}
        height={bottom + 4}
        viewBox={`-2 -2 ${right + 4} ${bottom + 4}`}
      >
        {steps.slice(1).map(({ id }, index) => (
          <g key={id} className="stroke-soft" fill="none">
            <path d={`M ${width / 2} ${topOf(index) + height} v ${gap}`} />
            <path d={`M ${width / 2 - 4} ${topOf(index + 1) - 6} l 4 6 l 4 -6`} />
          </g>
        ))}
        <Uses steps={steps} topOf={topOf} />
        {steps.map((step, index) => (
          <Node key={step.id} step={step} state={stateOf(step.id)} top={topOf(index)} />
        ))}
        {steps.map((step, index) => (
          <Compensation key={step.id} action={compensationOf(step)} top={topOf(index)} />
        ))}
      </svg>
    </section>
  )
}

/** Which steps use the output of an earlier one that is not next to them. */
const Uses = ({ steps, topOf }: { steps: readonly DefinedStep[]; topOf: (index: number) => number }) => (
  <g className="stroke-edge" fill="none">
    {steps.flatMap((step, to) =>
      sourcesOf(step).map((source) => {
        const from = steps.findIndex(({ id }) => id === source)
        if (from < 0 || from >= to - 1) return null
        const bend = Math.min(side - 10, 18 + 10 * (to - from))
        const [start, end] = [topOf(from) + height / 2 + 6, topOf(to) + height / 2 - 6]
        return (
          <path
            key={`${source} ${step.id}`}
            d={`M ${width} ${start} C ${width + bend} ${start} ${width + bend} ${end} ${width} ${end}`}
          >
            <title>{`${step.id} uses ${source}`}</title>
          </path>
        )
      }),
    )}
  </g>
)

function Node({ step, state, top }: { step: DefinedStep; state: Shown | undefined; top: number }) {
  const { id, call } = step
  const status = state?.status ?? ''
  const took =
    state?.started_at && state.completed_at
      ? duration(Date.parse(state.completed_at) - Date.parse(state.started_at))
      : ''
  const isActive = status === 'running' || status === 'waiting'
  return (
    <g>
      <rect
        y={top}
        width={width}
        height={height}
        rx={6}
        className={shapes[status] ?? 'fill-panel stroke-line'}
        strokeWidth={isActive ? 2 : 1}
        {...(status === 'skipped' && { strokeDasharray: '4 3' })}
      />
      <text x={10} y={top + 19} className="fill-ink text-sm font-medium">
        {short(id, 20)}
      </text>
      <text x={width - 10} y={top + 19} textAnchor="end" className="fill-ink text-xs">
        {status === 'pending' ? '' : [status, took].filter(Boolean).join(' · ')}
      </text>
      <text x={10} y={top + 36} className="fill-soft font-mono text-xs">
        {short(call ?? 'no call', 33)}
      </text>
      <text x={10} y={top + 52} className="fill-soft text-xs">
        {short(marksOf(step).join(' · '), 42)}
      </text>
    </g>
  )
}

function Compensation({ action, top }: { action: string | undefined; top: number }) {
  if (action === undefined) return null
  const middle = top + height / 2
  return (
    <g>
      <path d={`M ${width} ${middle} h ${side}`} className="stroke-bad" fill="none" strokeDasharray="4 3" />
      <rect
        x={width + side}
        y={middle - 20}
        width={sideWidth}
        height={40}
        rx={6}
        className="fill-panel stroke-bad"
        strokeDasharray="4 3"
      />
      <text x={width + side + 8} y={middle - 4} className="fill-soft text-xs">
        if it fails
      </text>
      <text x={width + side + 8} y={middle + 12} className="fill-ink font-mono text-xs">
        {short(action, 24)}
      </text>
    </g>
  )
}
