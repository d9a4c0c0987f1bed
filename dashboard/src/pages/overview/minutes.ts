import type { Answer } from '../../api.ts'

export type Stats = Answer<'calls', 'getCallStats'>
export type Minute = Stats['minutes'][number]

const length = 60_000

/** Every minute of the time that was asked about, also those in which nothing happened. */
export function everyMinute({ from, to, minutes }: Stats): Minute[] {
  const known = new Map(minutes.map((minute) => [Date.parse(minute.at), minute]))
  const first = Math.floor(Date.parse(from) / length) + 1
  const last = Math.floor(Date.parse(to) / length)
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const at = (first + index) * length
    return known.get(at) ?? { at: new Date(at).toISOString(), total: 0, by_status: {}, p50_ms: null, p95_ms: null }
  })
}

/** Calls that ended otherwise than they should. */
export const failedOf = ({ total, by_status }: Pick<Stats, 'total' | 'by_status'>): number =>
  total - (by_status.success ?? 0) - (by_status.pending ?? 0)

export const errorRate = (numbers: Pick<Stats, 'total' | 'by_status'>): number | null => {
  const ended = numbers.total - (numbers.by_status.pending ?? 0)
  return ended === 0 ? null : failedOf(numbers) / ended
}

/** A round number that is not smaller: the top of a scale. */
export function roundUp(value: number): number {
  if (value <= 4) return 4
  const size = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 4, 6, 10].find((step) => step * size >= value) ?? 10) * size
}
