import type { Answer } from '../../api.ts'

export type Stats = Answer<'calls', 'getCallStats'>
export type Minute = Stats['minutes'][number]

const length = 60_000

const none = {
  ...{ total: 0, by_status: {}, executed: 0, failed: 0, refused: 0, p50_ms: null, p95_ms: null },
  waited: { total: 0, p50_ms: null, p95_ms: null },
}

/** Every minute of the time that was asked about, also those in which nothing happened. */
export function everyMinute({ from, to, minutes }: Stats): Minute[] {
  const known = new Map(minutes.map((minute) => [Date.parse(minute.at), minute]))
  const first = Math.floor(Date.parse(from) / length) + 1
  const last = Math.floor(Date.parse(to) / length)
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const at = (first + index) * length
    return known.get(at) ?? { at: new Date(at).toISOString(), ...none }
  })
}

/** The share of executed calls that failed. A call that was refused, by a check or by a person, is no failure. */
export const errorRate = ({ executed, failed }: Pick<Stats, 'executed' | 'failed'>): number | null =>
  executed === 0 ? null : failed / executed

/** A round number that is not smaller: the top of a scale. */
export function roundUp(value: number): number {
  if (value <= 4) return 4
  const size = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 4, 6, 10].find((step) => step * size >= value) ?? 10) * size
}
