import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { Call, CallStatus, CallSummary, Surface } from '../model/call.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import type { CallFilter } from '../store/calls.ts'
import { whenAccessChanges } from './access-changes.ts'
import { acts, type EventStream, type Kind, lists } from './operation.ts'

export const call: Kind<CallSummary> = {
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
  principal_id: Id.optional().describe('Who called'),
  surface: Surface.optional(),
  server_id: Id.optional().describe('The MCP server of ours that it came by'),
}

export const Moment = z.iso.datetime({ offset: true })

export const listCalls = lists({
  name: 'list-calls',
  permission: 'calls:ListCalls',
  route: 'GET /calls',
  summary: 'List calls, newest first',
  of: call,
  input: z.strictObject({
    ...Filters,
    from: Moment.optional().describe('Not before this time'),
    to: Moment.optional().describe('Before this time'),
    ...Paging,
  }),
  output: pageOf(CallSummary),
  run: ({ from, to, ...filter }, { store, visible }) =>
    store.calls.list(
      { ...filter, ...(from && { from: Date.parse(from) }), ...(to && { to: Date.parse(to) }) },
      visible,
    ),
})

export const getCall = acts({
  name: 'get-call',
  permission: 'calls:GetCall',
  route: 'GET /calls/{call_id}',
  summary: 'Get one call whole',
  on: call as Kind<Call>,
  input: z.strictObject({ id: Id }),
  output: Call,
  run: async (_, { target }) => target,
})

export const streamCalls = lists({
  name: 'stream-calls',
  permission: 'calls:ListCalls',
  route: 'GET /calls/stream',
  summary: 'Watch calls begin and end, as server-sent events',
  answers: 'events',
  of: call,
  input: z.strictObject(Filters),
  output: CallSummary,
  async run(filter, { store, principal }): Promise<EventStream> {
    const wanted = (one: Call) =>
      evaluate(principal, 'calls:ListCalls', call.resource(one)).allowed && matches(one, filter)
    return {
      async subscribe(send, end) {
        const stopWatching = whenAccessChanges(principal, store, end)
        const stopHearing = store.notices.hear('calls', async (ids) => {
          // A database that does not answer costs the watchers an event, and nobody else anything.
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
