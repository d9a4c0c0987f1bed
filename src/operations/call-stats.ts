import { z } from 'zod'
import { sliceLength, type Tally } from '../db/tallies.ts'
import { CallStatus, wasExecuted } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import { iso, Timestamp } from '../model/page.ts'
import { call, Filters, Moment } from './calls.ts'
import { lists } from './operation.ts'

const hour = 60 * 60_000
const longest = 24 * hour
const minute = 60_000
const Numbers = {
  total: z.int(),
  by_status: z.partialRecord(CallStatus, z.int()),
  executed: z.int().describe('Calls that reached their tool and ended; failure rate and latency are based on these'),
  failed: z.int().describe('Executed calls that ended with an error'),
  refused: z.int().describe('Calls that never reached their tool: invalid, not permitted, or rejected by a reviewer'),
  p50_ms: z.number().nullable().describe('Median duration of executed calls, without the wait for approval'),
  p95_ms: z.number().nullable(),
  waited: z
    .object({ total: z.int(), p50_ms: z.number().nullable(), p95_ms: z.number().nullable() })
    .describe('Calls that waited for approval and ended, and how long they waited'),
}

export const CallStats = z.object({
  from: Timestamp,
  to: Timestamp,
  complete: z.boolean().describe('False if there were too many calls and the earliest are left out'),
  ...Numbers,
  minutes: z.array(z.object({ at: Timestamp, ...Numbers })).describe('Minutes with calls, oldest first'),
})

export const getCallStats = lists({
  name: 'get-call-stats',
  permission: 'calls:ListCalls',
  route: 'GET /calls/stats',
  summary: 'Get call counts by minute and status, with latency and approval wait',
  of: call,
  input: z.strictObject({
    ...Filters,
    from: Moment.optional().describe(
      'Defaults to an hour before `to`; at most a day before. Rounded down to the minute',
    ),
    to: Moment.optional().describe('Defaults to now'),
  }),
  output: CallStats,
  async run({ from, to, ...filter }, { store, visible }) {
    const until = to ? Date.parse(to) : Date.now()
    const since = from ? Date.parse(from) : until - hour
    if (since >= until || until - since > longest) {
      const message = since >= until ? 'must be before "to"' : 'must be at most a day before "to"'
      throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'from', message }] })
    }
    const start = Math.floor(since / minute) * minute
    const { tallies, isComplete } = await store.calls.tally(filter, start, until, visible)
    const minutes = Map.groupBy(tallies, ({ slice }) => Math.floor((slice * sliceLength) / minute))
    return {
      from: iso(start),
      to: iso(until),
      complete: isComplete,
      ...summarize(tallies),
      minutes: [...minutes]
        .sort(([a], [b]) => a - b)
        .map(([at, those]) => ({ at: iso(at * minute), ...summarize(those) })),
    }
  },
})

function summarize(tallies: readonly Tally[]) {
  const byStatus: Record<string, number> = {}
  for (const { status, calls } of tallies) byStatus[status] = (byStatus[status] ?? 0) + calls
  const executed = tallies.filter(({ status }) => wasExecuted(status))
  const latencies = measured(executed, 'latency')
  const waits = measured(tallies, 'waited')
  const total = countOf(tallies)
  return {
    total,
    by_status: byStatus,
    executed: countOf(executed),
    failed: byStatus.execution_error ?? 0,
    refused: total - countOf(executed) - (byStatus.pending ?? 0),
    p50_ms: percentile(latencies, 0.5),
    p95_ms: percentile(latencies, 0.95),
    waited: { total: countOf(waits), p50_ms: percentile(waits, 0.5), p95_ms: percentile(waits, 0.95) },
  }
}

const countOf = (tallies: readonly { calls: number }[]): number => tallies.reduce((sum, { calls }) => sum + calls, 0)

interface Measured {
  /** In tenths of a millisecond. */
  readonly time: number
  readonly calls: number
}

/** Tallies with a known time, shortest first. */
const measured = (tallies: readonly Tally[], field: 'latency' | 'waited'): Measured[] =>
  tallies
    .flatMap(({ [field]: time, calls }) => (time === null ? [] : [{ time, calls }]))
    .sort((a, b) => a.time - b.time)

/** The shortest time that this share of the calls did not exceed. */
function percentile(sorted: readonly Measured[], share: number): number | null {
  const wanted = share * countOf(sorted)
  let seen = 0
  for (const { time, calls } of sorted) {
    seen += calls
    if (seen >= wanted) return time / 10
  }
  return null
}
