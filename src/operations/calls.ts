import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { Call, CallStatus, CallSummary, matchesText, Surface } from '../model/call.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import { type CallFilter, type CallSearch, maxSearched } from '../store/calls.ts'
import { exported } from './export-calls.ts'
import { acts, type Download, type EventStream, lists, type RecordKind } from './operation.ts'

export const call: RecordKind<CallSummary> = {
  name: 'call',
  find: (id, store) => store.calls.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'call', id }),
}

export const Filters = {
  project_id: Id.optional(),
  status: CallStatus.optional(),
  app: Text.max(200).optional(),
  tool_id: Id.optional(),
  tool: Text.max(200).optional().describe('The tool’s name at the time of the call'),
  action: Text.max(200).optional().describe('namespace:name'),
  principal_id: Id.optional().describe('Id of the caller’s API key'),
  surface: Surface.optional(),
  server_id: Id.optional().describe('The MCP endpoint that the call came through'),
}

export const Moment = z.iso.datetime({ offset: true })

const Between = {
  from: Moment.optional().describe('At or after this time'),
  to: Moment.optional().describe('Before this time'),
}

const q = Text.max(200).optional()
const searches = 'Words to search for in the call’s action, tool and error, or the start of its id. Case-insensitive'

const searchOf = ({ from, to, ...filter }: CallFilterInput): CallSearch => ({
  ...filter,
  ...(from && { from: Date.parse(from) }),
  ...(to && { to: Date.parse(to) }),
})
type CallFilterInput = Omit<CallSearch, 'from' | 'to'> & { readonly from?: string; readonly to?: string }

export const listCalls = lists({
  name: 'list-calls',
  permission: 'calls:ListCalls',
  route: 'GET /calls',
  summary: 'List calls, newest first',
  of: call,
  input: z.strictObject({
    q: q.describe(
      `${searches}. Searches the newest ${maxSearched.toLocaleString('en')} calls that match the other filters`,
    ),
    ...Filters,
    ...Between,
    ...Paging,
  }),
  output: pageOf(CallSummary),
  run: ({ limit, offset, ...filter }, { store, visible }) =>
    store.calls.list({ ...searchOf(filter), limit, offset }, visible),
})

export const exportCalls = lists({
  name: 'export-calls',
  permission: 'calls:ListCalls',
  route: 'GET /calls/export',
  summary: 'Export calls as CSV or JSON Lines, newest first',
  answers: 'bytes',
  of: call,
  input: z.strictObject({
    format: z.enum(['csv', 'jsonl']).default('csv').describe('CSV, or one JSON object per line'),
    q: q.describe(searches),
    ...Filters,
    ...Between,
  }),
  output: z.unknown(),
  run: async ({ format, ...filter }, { store, visible }): Promise<Download> =>
    exported(format, store.calls.export(searchOf(filter), visible)),
})

export const getCall = acts({
  name: 'get-call',
  permission: 'calls:GetCall',
  route: 'GET /calls/{call_id}',
  summary: 'Get a call',
  on: call as RecordKind<Call>,
  input: z.strictObject({ id: Id }),
  output: Call,
  run: async (_, { target }) => target,
})

export const streamCalls = lists({
  name: 'stream-calls',
  permission: 'calls:ListCalls',
  route: 'GET /calls/stream',
  summary: 'Stream calls as they start and end, as server-sent events',
  answers: 'events',
  of: call,
  input: z.strictObject({ q: q.describe(searches), ...Filters }),
  output: CallSummary,
  async run({ q, ...filter }, { store, authenticator, principal }): Promise<EventStream> {
    const wanted = (one: Call) =>
      evaluate(principal, 'calls:ListCalls', call.resource(one)).allowed &&
      matches(one, filter) &&
      (q === undefined || matchesText(one, q))
    return {
      async subscribe(send, end) {
        const stopWatching = authenticator.onChange(principal, end)
        const stopHearing = store.changes.subscribe('calls', async (ids) => {
          // If the database is unavailable, watchers miss an event. Nothing else is affected.
          const calls = await store.calls.findMany(ids).catch(() => [])
          for (const one of calls.filter(wanted)) {
            const { request: _request, response: _response, ...summary } = one
            send({ name: one.status === 'pending' ? 'call.begun' : 'call.ended', id: one.id, data: summary })
          }
        })
        return () => {
          stopWatching()
          stopHearing()
        }
      },
    }
  },
})

function matches(one: Call, filter: CallFilter): boolean {
  const facts: CallFilter = { ...one, principal_id: one.principal.id } as CallFilter
  return Object.entries(filter).every(
    ([field, value]) => value === undefined || facts[field as keyof CallFilter] === value,
  )
}
