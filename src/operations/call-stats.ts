import { z } from 'zod'
import { CallStatus } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import { iso, Timestamp } from '../model/page.ts'
import { sliceLength, type Tally } from '../store/tallies.ts'
import { call, Filters, Moment } from './calls.ts'
import { lists } from './operation.ts'

const hour = 60 * 60_000
const longest = 24 * hour
const minute = 60_000
const Numbers = {
  total: z.int(),
  by_status: z.partialRecord(CallStatus, z.int()),
  p50_ms: z.number().nullable().describe('Half of the calls that ended took no longer'),
  p95_ms: z.number().nullable(),
}

export const getCallStats = lists({
  name: 'get-call-stats',
  permission: 'calls:ListCalls',
  route: 'GET /calls/stats',
  summary: 'Count calls by minute and status, with their latency',
  of: call,
  input: z.strictObject({
    ...Filters,
    from: Moment.optional().describe(
      'An hour before `to`, unless given; at most a day. Counted from the start of its minute',
    ),
    to: Moment.optional().describe('Now, unless given'),
  }),
  output: z.object({
    from: Timestamp,
    to: Timestamp,
    complete: z.boolean().describe('False where there were so many calls that the earliest are left out'),
    ...Numbers,
    minutes: z.array(z.object({ at: Timestamp, ...Numbers })).describe('Those in which there were calls, oldest first'),
  }),
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
  const ended = tallies.flatMap(({ latency, calls }) => (latency === null ? [] : [{ latency, calls }]))
  ended.sort((a, b) => a.latency - b.latency)
  return {
    total: tallies.reduce((sum, { calls }) => sum + calls, 0),
    by_status: byStatus,
    p50_ms: percentile(ended, 0.5),
    p95_ms: percentile(ended, 0.95),
  }
}

/** The smallest latency that so large a share of the calls did not exceed. */
function percentile(ended: readonly { latency: number; calls: number }[], share: number): number | null {
  const wanted = share * ended.reduce((sum, { calls }) => sum + calls, 0)
  let seen = 0
  for (const { latency, calls } of ended) {
    seen += calls
    if (seen >= wanted) return latency / 10
  }
  return null
}
