import { z } from 'zod'
import { AnyJson, type Json, type JsonObject } from '../lib/json.ts'
import { ModeSlug } from './mode.ts'
import { Text, Timestamp } from './page.ts'
import { jsonObject } from './tool.ts'

export const EventKind = z.enum(['message', 'tool', 'status', 'custom'])
export type EventKind = z.infer<typeof EventKind>

export const EventSource = z.enum(['customer', 'agent', 'system', 'integration', 'human'])
export type EventSource = z.infer<typeof EventSource>

/**
 * `acknowledged` and `processing` when a turn starts, `typing` when its reply begins, `ready` when it is over. Before `ready`,
 * a turn that was cancelled has `cancelled`, and one that failed has `error`.
 */
export const TurnStatus = z.enum(['acknowledged', 'processing', 'typing', 'ready', 'cancelled', 'error'])
export type TurnStatus = z.infer<typeof TurnStatus>

/** One entry in the log of a session. Which of the fields below `created_at` it has depends on its kind. */
export const SessionEvent = z.object({
  id: z.string(),
  session_id: z.string(),
  offset: z.int().describe('The position in the log; grows with each event'),
  kind: EventKind,
  source: EventSource,
  trace_id: z.string().nullable().describe('The same for all events of a turn'),
  generation_id: z.string().nullable().describe('The turn that it belongs to'),
  created_at: Timestamp,
  message: z.string().optional().describe('The text of a message event'),
  tool_id: z.string().optional().describe('namespace:name, of a tool event'),
  arguments: AnyJson.optional(),
  result: AnyJson.optional(),
  is_error: z.boolean().optional().describe('Whether the tool failed'),
  status: TurnStatus.optional().describe('Of a status event'),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  data: AnyJson.optional().describe('The content of a custom event'),
})
export type SessionEvent = z.infer<typeof SessionEvent>

/** What the kinds of events carry, as it is stored. */
export interface EventData {
  readonly message?: string
  readonly tool_id?: string
  readonly arguments?: Json
  readonly result?: Json
  readonly is_error?: boolean
  readonly status?: TurnStatus
  readonly error?: { readonly code: string; readonly message: string }
  readonly data?: Json
}

export const Metadata = jsonObject(
  'Data about the session, for your own use and for "when" conditions of policies',
).refine((value) => JSON.stringify(value).length <= 100_000, 'is larger than 100,000 characters of JSON')

export const RoutineRunStatus = z.enum(['running', 'succeeded', 'failed'])

/** The run of an autonomous routine. */
export const RoutineRun = z.object({
  run_id: z.string().describe('The id of its session'),
  session_id: z.string(),
  routine_id: z.string(),
  agent_id: z.string(),
  status: RoutineRunStatus,
  output: AnyJson.nullable(),
  error: z.object({ code: z.string(), message: z.string(), details: AnyJson.optional() }).nullable(),
  callback_url: z.string().nullable(),
  created_at: Timestamp,
  completed_at: Timestamp.nullable(),
})
export type RoutineRun = z.infer<typeof RoutineRun>

/** What a session stores of the run of an autonomous routine. */
export type RoutineRunState = Pick<
  RoutineRun,
  'routine_id' | 'status' | 'output' | 'error' | 'callback_url' | 'completed_at'
> & {
  readonly input: JsonObject
  readonly deadline: number | null
  /** The name of the secret that signs the callback. */
  readonly callback_secret?: string | null
  /** How often its result was posted to the callback URL, and whether that worked. */
  readonly callbacks: number
  readonly called_back: boolean
}

/** Where a session is in a routine. */
export const RoutinePosition = z.object({
  routine_id: z.string(),
  node_id: z.string().describe('The current node'),
  status: z.enum(['active', 'left', 'completed', 'handed_over']),
  done: z.boolean().describe('Whether the current node has completed'),
  visited: z.array(z.string()).describe('The nodes so far, in order'),
  reason: z.string().nullable(),
})
export type RoutinePosition = z.infer<typeof RoutinePosition>

/** What the guide remembers between turns. */
export interface GuideState {
  readonly routines: readonly RoutinePosition[]
  /** Policies with `repeat: once` that have been applied. */
  readonly once: readonly string[]
  /** Variables that were fetched, and when. */
  readonly variables?: { readonly [id: string]: { readonly value: Json; readonly at: number } }
}

export const emptyState: GuideState = { routines: [], once: [] }

/** A conversation between an agent and an end user. */
export const Session = z.object({
  id: z.string(),
  project_id: z.string(),
  agent_id: z.string(),
  end_user_id: z.string().nullable(),
  title: z.string().nullable(),
  status: z.enum(['ready', 'processing']).describe('Whether a turn is in progress or about to start'),
  generation_id: z.string().nullable().describe('The turn in progress'),
  next_offset: z.int().describe('The offset of the next event'),
  metadata: z.custom<JsonObject>().meta({ type: 'object' }),
  mode: z
    .string()
    .nullable()
    .describe('Slug of the mode of its calls, in addition to those of the agent and the caller'),
  routines: z.array(RoutinePosition).describe('The routines that it is or was in'),
  principal: z
    .object({ id: z.string(), name: z.string() })
    .describe('The key that its turns run as: the one that sent the latest message'),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Session = z.infer<typeof Session>

export const SessionFields = {
  end_user_id: Text.min(1).max(200).nullable().describe('Your id of the end user'),
  title: Text.max(200).nullable(),
  metadata: Metadata,
  mode: ModeSlug.nullable().describe('Slug of the mode of its calls, in addition to those of the agent and the caller'),
}

/** The ids of a new event. */
export const EventIds = z.object({ event_id: z.string(), offset: z.int() })

/** A part of a session's log, in order. */
export const SessionEvents = z.object({ data: z.array(SessionEvent) })
