import type { CallStats } from '../../api.ts'

export type Stats = CallStats
export type Minute = Stats['minutes'][number]

const length = 60_000

const none = {
  ...{ total: 0, by_status: {}, executed: 0, failed: 0, refused: 0, p50_ms: null, p95_ms: null },
  waited: { total: 0, p50_ms: null, p95_ms: null },
}

/** Every minute of the period, including those without calls. */
export function everyMinute({ from, to, minutes }: Stats): Minute[] {
  const byTime = new Map(minutes.map((minute) => [Date.parse(minute.at), minute]))
  const first = Math.floor(Date.parse(from) / length) + 1
  const last = Math.floor(Date.parse(to) / length)
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const at = (first + index) * length
    return byTime.get(at) ?? { at: new Date(at).toISOString(), ...none }
  })
}

/** The share of executed calls that failed. A refused call is not a failure. */
export const errorRate = ({ executed, failed }: Pick<Stats, 'executed' | 'failed'>): number | null =>
  executed === 0 ? null : failed / executed

/** Rounds up to the top of a scale. */
export function roundUp(value: number): number {
  if (value <= 4) return 4
  const size = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 4, 6, 10].find((step) => step * size >= value) ?? 10) * size
}
