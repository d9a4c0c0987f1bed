import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { waitForEvents, watchEvents } from '../agents/sessions/watch-events.ts'
import { AnyJson } from '../lib/json.ts'
import type { Agent } from '../model/agent.ts'
import { PlatformError } from '../model/errors.ts'
import { callerStateOf } from '../model/mode.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import {
  EventIds,
  EventKind,
  EventSource,
  Session,
  SessionEvent,
  SessionEvents,
  SessionFields,
} from '../model/session.ts'
import { type EventFilter, type NewEvent, pathOf, type SessionRecord } from '../store/sessions.ts'
import { agent } from './agents.ts'
import { requireMode, requireModeChange } from './granting-modes.ts'
import {
  acts,
  type Context,
  type EventStream,
  JsonText,
  lists,
  operation,
  type RecordKind,
  requireAllowed,
} from './operation.ts'
import { References } from './references.ts'

export const session: RecordKind<SessionRecord> = {
  name: 'session',
  find: (id, store) => store.sessions.find(id),
  resource: ({ id, project_id, path }) => ({
    projectId: project_id ?? null,
    kind: 'session',
    id,
    ...(path && { path }),
  }),
}

const { end_user_id, title, metadata, mode } = SessionFields

export const shown = ({
  wanted: _,
  published: _published,
  path: _path,
  state: _state,
  run: _run,
  caller: _caller,
  ...rest
}: SessionRecord): Session => rest

const agents = References.of('POST /agents/{agent_id}', 'agents:CreateAgentGeneration')

/** The agent with this id or name. Whoever starts a session must be able to run it. */
export async function findAgent(reference: string, context: Context): Promise<Agent> {
  const id = (await agents?.idOf(reference, context)) ?? reference
  const found = await agent.find(id, context.store)
  const missing = new PlatformError('RESOURCE_NOT_FOUND', { kind: 'agent', id: reference })
  if (!found) throw (await agents?.hinted(missing, reference, context)) ?? missing
  if (!evaluate(context.principal, 'agents:GetAgent', agent.resource(found)).allowed) {
    if (!evaluate(context.principal, 'agents:CreateAgentGeneration', agent.resource(found)).allowed) throw missing
  }
  requireAllowed(context.principal, 'agents:CreateAgentGeneration', agent.resource(found))
  return found
}

export const createSession = operation({
  name: 'create-session',
  permission: 'sessions:CreateSession',
  route: 'POST /sessions',
  summary: 'Start a session: a conversation with an agent',
  example: { agent_id: 'car-desk', end_user_id: 'customer-7' },
  status: 201,
  input: z.strictObject({
    agent_id: Text.min(1).max(200).describe('Id or name of the agent'),
    end_user_id: end_user_id.default(null),
    title: title.default(null),
    metadata: metadata.default({}),
    mode: mode.default(null),
  }),
  output: Session,
  async run(input, context) {
    const found = await findAgent(input.agent_id, context)
    const resource = { projectId: found.project_id, kind: 'session', id: '*', path: pathOf(found.id) }
    requireAllowed(context.principal, 'sessions:CreateSession', resource)
    const { principal, store } = context
    if (input.mode !== null) await requireMode(input.mode, found.project_id, context)
    const { title: called, metadata: data, end_user_id: user, mode: limit } = input
    const fresh = { project_id: found.project_id, agent_id: found.id, end_user_id: user, title: called, metadata: data }
    return shown(
      await store.sessions.create({ ...fresh, mode: limit, principal: { id: principal.id, name: principal.name } }),
    )
  },
})

export const listSessions = lists({
  name: 'list-sessions',
  permission: 'sessions:ListSessions',
  route: 'GET /sessions',
  summary: 'List sessions, newest first',
  of: session,
  input: z.strictObject({
    project_id: Id.optional(),
    agent_id: Id.optional(),
    end_user_id: Text.max(200).optional(),
    ...Paging,
  }),
  output: pageOf(Session),
  async run(input, { store, visible }) {
    const page = await store.sessions.list(input, visible)
    return { ...page, data: page.data.map(shown) }
  },
})

export const getSession = acts({
  name: 'get-session',
  permission: 'sessions:GetSession',
  route: 'GET /sessions/{session_id}',
  summary: 'Get a session',
  on: session,
  input: z.strictObject({ id: Id }),
  output: Session,
  run: async (_, { target }) => shown(target),
})

export const updateSession = acts({
  name: 'update-session',
  permission: 'sessions:UpdateSession',
  route: 'PATCH /sessions/{session_id}',
  summary: 'Change a session; fields of the metadata are merged, and null removes one',
  example: { metadata: { plan: 'gold' } },
  on: session,
  input: z.strictObject({ id: Id, title: title.optional(), metadata: metadata.optional(), mode: mode.optional() }),
  output: Session,
  async run({ id, metadata: change, ...fields }, context) {
    const { store, target } = context
    if (fields.mode !== undefined) await requireModeChange(target.mode, fields.mode, target.project_id, context)
    const sent = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
    await store.sessions.mergeMetadata(id, change ?? {}, sent)
    return shown((await store.sessions.find(id)) ?? target)
  },
})

export const deleteSession = acts({
  name: 'delete-session',
  permission: 'sessions:DeleteSession',
  route: 'DELETE /sessions/{session_id}',
  summary: 'Delete a session with its events and turns; a turn in progress is cancelled',
  status: 204,
  on: session,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store, runner, target }) {
    if (target.generation_id !== null) await runner.cancel(target.generation_id)
    await store.sessions.remove(id)
    return null
  },
})

/** Repeated with the same key, an event is not added again: the answer names the first one. */
const Key = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
  .optional()
  .describe('A retry with the same key returns the first event')

export async function appended(
  event: Omit<NewEvent, 'key'>,
  { idempotency_key: key, wanted }: { readonly idempotency_key?: string | undefined; readonly wanted: boolean },
  { target, sessionRunner, principal }: Context & { readonly target: SessionRecord },
): Promise<z.infer<typeof EventIds> | JsonText> {
  const made = await sessionRunner.append(
    target.id,
    { ...event, ...(key !== undefined && { key: `key/${key}` }) },
    { wanted, origin: { principal: { id: principal.id, name: principal.name, caller: callerStateOf(principal) } } },
  )
  const ids = { event_id: made.event.id, offset: made.event.offset }
  return made.isNew ? ids : new JsonText(JSON.stringify(ids), 200)
}

export const sendSessionMessage = acts({
  name: 'send-session-message',
  permission: 'sessions:SendMessage',
  route: 'POST /sessions/{session_id}/messages',
  summary: 'Send a message; the agent’s reply is an event of the session',
  example: { message: 'Where is my order?' },
  status: 202,
  on: session,
  input: z.strictObject({
    id: Id,
    message: Text.min(1).max(200_000),
    source: EventSource.extract(['customer', 'human', 'system'])
      .default('customer')
      .describe('Who speaks. A human agent’s message gets no reply'),
    idempotency_key: Key,
  }),
  output: EventIds,
  async run({ message, source, idempotency_key }, context) {
    const wanted = source !== 'human'
    return appended({ kind: 'message', source, data: { message } }, { idempotency_key, wanted }, context)
  },
})

export const injectToolEvent = acts({
  name: 'inject-tool-event',
  permission: 'sessions:InjectToolEvent',
  route: 'POST /sessions/{session_id}/tool_events',
  summary: 'Add the result of a tool that the agent did not call itself; the next turn sees it',
  example: {
    tool_id: 'injected:conversation_history',
    arguments: { source: 'zendesk', ticket: '12345' },
    result: { messages: [{ from: 'customer', text: 'Where is my refund?' }] },
    idempotency_key: 'zendesk-12345-import-1',
    trigger_processing: false,
  },
  status: 201,
  on: session,
  input: z.strictObject({
    id: Id,
    tool_id: Text.min(1).max(200).describe('A label such as injected:bank_statement; it need not name a tool'),
    arguments: AnyJson.optional(),
    result: AnyJson.refine((value) => value !== undefined, 'is missing'),
    idempotency_key: Key,
    trigger_processing: z
      .boolean()
      .default(false)
      .describe('Start a turn immediately; a turn in progress is cancelled'),
  }),
  output: EventIds,
  async run({ tool_id, arguments: args = {}, result, idempotency_key, trigger_processing }, context) {
    const data = { tool_id, arguments: args, result }
    const event = { kind: 'tool' as const, source: 'integration' as const, data }
    return appended(event, { idempotency_key, wanted: trigger_processing }, context)
  },
})

export const createSessionEvent = acts({
  name: 'create-session-event',
  permission: 'sessions:CreateEvent',
  route: 'POST /sessions/{session_id}/events',
  summary: 'Add a custom event to a session; models do not see it',
  example: { data: { page: '/checkout' } },
  status: 201,
  on: session,
  input: z.strictObject({
    id: Id,
    data: AnyJson.refine((value) => value !== undefined, 'is missing'),
    idempotency_key: Key,
  }),
  output: EventIds,
  run: ({ data, idempotency_key }, context) =>
    appended({ kind: 'custom', source: 'integration', data: { data } }, { idempotency_key, wanted: false }, context),
})

const Offset = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const kinds = z.array(EventKind).min(1).optional().describe('Only these kinds, separated by commas')

export const listSessionEvents = acts({
  name: 'list-session-events',
  permission: 'sessions:ListEvents',
  route: 'GET /sessions/{session_id}/events',
  summary: 'List the events of a session, in order; can wait for new ones',
  on: session,
  input: z.strictObject({
    id: Id,
    min_offset: Offset.default(0).describe('Only events from this offset on: the last one you have, plus one'),
    kinds,
    source: EventSource.optional(),
    trace_id: Id.optional(),
    wait_for_data: z
      .number()
      .min(0)
      .max(60)
      .default(0)
      .describe('If no event matches, wait up to this many seconds for one, then respond with 204'),
    sse: z.boolean().default(false).describe('Stream the events instead, as watch-session does'),
    limit: z.int().min(1).max(1000).default(500),
  }),
  output: SessionEvents,
  async run({ id, source, wait_for_data, sse, ...filter }, context) {
    const { store, gone, closing } = context
    const sources = source && [source]
    if (sse) return streamOf(id, { ...filter, sources, deltas: false }, context)
    const signals = [gone?.(), closing].filter((signal) => signal !== undefined)
    const signal = signals.length > 0 ? AbortSignal.any(signals) : undefined
    const data = await waitForEvents(store, id, { ...filter, sources }, wait_for_data * 1000, signal)
    if (data.length === 0 && wait_for_data > 0) return new JsonText('', 204)
    return { data }
  },
})

export const watchSession = acts({
  name: 'watch-session',
  permission: 'sessions:ListEvents',
  route: 'GET /sessions/{session_id}/stream',
  summary: 'Stream the events of a session as server-sent events, and the text of replies as it arrives',
  answers: 'events',
  on: session,
  input: z.strictObject({ id: Id, min_offset: Offset.default(0), kinds, deltas: z.boolean().default(false) }),
  output: SessionEvent,
  run: async ({ id, kinds: wanted, ...filter }, context) => streamOf(id, { ...filter, kinds: wanted }, context),
})

type StreamFilter = Omit<EventFilter, 'limit'> & { readonly deltas: boolean }

/** Sends events as they are appended and, with `deltas`, the text of replies while the model writes it. */
const streamOf = (
  id: string,
  { deltas, ...filter }: StreamFilter,
  { store, authenticator, principal, runner }: Context,
): EventStream => ({
  async subscribe(send, end) {
    const stops = [authenticator.onChange(principal, end)]
    const follow = (turn: string) => {
      const watching = runner.watch(
        turn,
        (event) => {
          if (event.type === 'text.delta') send({ name: 'delta', data: { generation_id: turn, text: event.text } })
        },
        () => {},
      )
      stops.push(watching)
    }
    const watching = watchEvents(store, id, filter, (event) => {
      send({ name: event.kind, id: String(event.offset), data: event })
      if (deltas && event.status === 'typing' && event.generation_id) follow(event.generation_id)
    })
    stops.push(watching)
    return () => {
      for (const stop of stops) stop()
    }
  },
})
