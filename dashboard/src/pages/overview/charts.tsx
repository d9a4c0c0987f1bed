import { type ReactNode, useState } from 'react'
import { count, duration } from '../../format.ts'
import { type Minute, roundUp } from './minutes.ts'

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const timeOf = ({ at }: Minute) => clock.format(new Date(at))

interface Props {
  readonly minutes: readonly Minute[]
}

/** A plot with a scale on the left, the time below, and the value under the pointer above. */
function Plot({
  minutes,
  top,
  scale,
  label,
  legend,
  read,
  children,
}: Props & {
  top: number
  scale: (value: number) => string
  label: string
  legend: ReactNode
  read: (minute: Minute) => string
  children: ReactNode
}) {
  const [at, setAt] = useState<number>()
  const pointed = at === undefined ? undefined : minutes[at]
  return (
    <div>
      <div className="mb-2 flex min-h-5 flex-wrap items-center justify-between gap-x-4 text-xs text-soft">
        {legend}
        <span className="tabular-nums">{pointed ? `${timeOf(pointed)} · ${read(pointed)}` : ''}</span>
      </div>
      <div className="grid grid-cols-[3.25rem_minmax(0,1fr)]">
        <div className="flex h-36 flex-col justify-between pr-2 text-right text-xs whitespace-nowrap text-soft tabular-nums">
          <span className="-translate-y-2">{scale(top)}</span>
          <span>{scale(top / 2)}</span>
          <span className="translate-y-2">0</span>
        </div>
        <div
          role="img"
          aria-label={label}
          className="relative h-36 border-b border-edge/60"
          onPointerMove={(event) => {
            const { left, width } = event.currentTarget.getBoundingClientRect()
            const index = Math.floor(((event.clientX - left) / width) * minutes.length)
            setAt(Math.max(0, Math.min(minutes.length - 1, index)))
          }}
          onPointerLeave={() => setAt(undefined)}
        >
          <div className="absolute inset-x-0 top-0 border-t border-line" />
          <div className="absolute inset-x-0 top-1/2 border-t border-line" />
          {children}
          {at !== undefined && (
            <div
              className="absolute inset-y-0 bg-ink/10"
              style={{ left: `${(at / minutes.length) * 100}%`, width: `${100 / minutes.length}%` }}
            />
          )}
        </div>
        <span />
        <div className="flex justify-between pt-1 text-xs text-soft tabular-nums">
          {[0, Math.floor(minutes.length / 2), minutes.length - 1].map((index) => (
            <span key={index}>{minutes[index] && timeOf(minutes[index])}</span>
          ))}
        </div>
      </div>
    </div>
  )
}

const Key = ({ mark, children }: { mark: string; children: ReactNode }) => (
  <span className="inline-flex items-center gap-1.5">
    <span className={`inline-block h-2 w-3 rounded-sm ${mark}`} />
    {children}
  </span>
)

export function CallsChart({ minutes }: Props) {
  const top = roundUp(Math.max(...minutes.map(({ total }) => total)))
  const share = (calls: number) => ({ height: `${(calls / top) * 100}%` })
  return (
    <Plot
      minutes={minutes}
      top={top}
      scale={count}
      label={`Calls per minute, ${count(minutes.reduce((sum, { total }) => sum + total, 0))} in total`}
      legend={
        <span className="flex gap-4">
          <Key mark="bg-accent">succeeded</Key>
          <Key mark="bg-bad">failed</Key>
          <Key mark="bg-warn">refused</Key>
          <Key mark="bg-edge">pending</Key>
        </span>
      }
      read={(minute) =>
        `${count(minute.total)} calls, ${count(minute.failed)} failed, ${count(minute.refused)} refused`
      }
    >
      <div className="absolute inset-0 flex items-end gap-px">
        {minutes.map((minute) => (
          <div key={minute.at} className="flex h-full min-w-0 flex-1 flex-col justify-end">
            <div className="bg-edge" style={share(minute.by_status.pending ?? 0)} />
            <div className="bg-warn" style={share(minute.refused)} />
            <div className="bg-bad" style={share(minute.failed)} />
            <div className="bg-accent" style={share(minute.by_status.success ?? 0)} />
          </div>
        ))}
      </div>
    </Plot>
  )
}

export function LatencyChart({ minutes }: Props) {
  const top = roundUp(Math.max(...minutes.map(({ p95_ms }) => p95_ms ?? 0)))
  const line = (of: (minute: Minute) => number | null) =>
    minutes.flatMap((minute, index) => {
      const value = of(minute)
      return value === null ? [] : [`${index + 0.5},${(1 - value / top) * 100}`]
    })
  return (
    <Plot
      minutes={minutes}
      top={top}
      scale={axis}
      label="Latency per minute, p50 and p95"
      legend={
        <span className="flex gap-4">
          <Key mark="bg-accent">p50</Key>
          <Key mark="bg-warn">p95</Key>
        </span>
      }
      read={({ p50_ms, p95_ms }) => `p50 ${duration(p50_ms)}, p95 ${duration(p95_ms)}`}
    >
      <svg
        viewBox={`0 0 ${minutes.length} 100`}
        preserveAspectRatio="none"
        aria-hidden="true"
        className="absolute inset-0 size-full overflow-visible"
      >
        <Line points={line(({ p95_ms }) => p95_ms)} className="text-warn" />
        <Line points={line(({ p50_ms }) => p50_ms)} className="text-accent" />
      </svg>
    </Plot>
  )
}

const Line = ({ points, className }: { points: readonly string[]; className: string }) => (
  <polyline
    // A single minute is drawn as a dot: a line from a point to itself.
    points={(points.length === 1 ? [...points, ...points] : points).join(' ')}
    fill="none"
    stroke="currentColor"
    strokeWidth={points.length === 1 ? 7 : 2}
    strokeLinecap="round"
    strokeLinejoin="round"
    vectorEffect="non-scaling-stroke"
    className={className}
  />
)

const axis = (value: number) => (value < 1000 ? `${value} ms` : `${value / 1000} s`)

/** The data of the charts as a table. */
export const MinutesTable = ({ minutes }: Props) => {
  const some = minutes.filter(({ total }) => total > 0).toReversed()
  return (
    <details className="mt-3 text-sm">
      <summary className="text-xs text-soft">Show as table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard */}
      <div tabIndex={0} className="mt-2 max-h-64 overflow-auto">
        <table className="w-full text-xs tabular-nums">
          <thead>
            <tr className="text-left text-soft">
              {['Minute', 'Calls', 'Failed', 'p50', 'p95'].map((name) => (
                <th key={name} scope="col" className="px-2 py-1 font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {some.map((minute) => (
              <tr key={minute.at} className="border-t border-line">
                <td className="px-2 py-1">{timeOf(minute)}</td>
                <td className="px-2 py-1">{count(minute.total)}</td>
                <td className="px-2 py-1">{count(minute.failed)}</td>
                <td className="px-2 py-1">{duration(minute.p50_ms)}</td>
                <td className="px-2 py-1">{duration(minute.p95_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
