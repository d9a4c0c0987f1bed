import { z } from 'zod'
import { Text, Timestamp } from './page.ts'
import type { Principal } from './principal.ts'
import { type Action, Level } from './tool.ts'

const Pattern = z.string().min(1).max(200)

/** What an action does to the data behind it. */
export const ActionGroup = z.enum(['read', 'write', 'destructive'])
export type ActionGroup = z.infer<typeof ActionGroup>

export const ModeSlug = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,62}$/,
    'must be a slug: 1 to 63 lowercase letters, digits and "-", starting with a letter or digit',
  )

export const ModeFields = {
  slug: ModeSlug,
  name: Text.trim().min(1).max(200),
  description: Text.max(2000).nullable(),
  levels: z
    .array(Level)
    .max(3)
    .describe('Levels of actions that calls in this mode can use without approval; open is always included'),
  servers: z.array(Pattern).max(500).nullable().describe('Slugs of the MCP servers it can use; null for all'),
  tools: z
    .array(Pattern)
    .max(1000)
    .nullable()
    .describe('Actions it can use, such as crm:get_contact or crm:*; null for all'),
  groups: z
    .array(ActionGroup)
    .max(3)
    .nullable()
    .describe(
      'Kinds of actions it can use: read (declared to change nothing), write, destructive (may change or delete existing data); null for all',
    ),
  sign_in_within_seconds: z
    .int()
    .min(1)
    .max(86_400)
    .nullable()
    .describe('Actions above open need a person who signed in at most this long ago; null for no such limit'),
}

/** A named context of calls: it decides which levels, servers and tools they can use. */
export const Mode = z.object({
  id: z.string(),
  project_id: z.string(),
  ...ModeFields,
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Mode = z.infer<typeof Mode>
export type ModeDraft = Omit<Mode, 'id' | 'project_id' | 'created_at' | 'updated_at'>

type Limits = Pick<Mode, 'levels' | 'servers' | 'tools' | 'groups'>

/** Why a mode does not allow an action; undefined if it does. */
export function objectionOf(
  mode: Limits,
  action: Pick<Action, 'id' | 'level' | 'readOnly' | 'destructive'>,
  server: string | undefined,
): string | undefined {
  const { id, level } = action
  if (!allowsLevel(mode, level)) return `its level is ${level}`
  if (mode.servers && server !== undefined && !mode.servers.includes(server))
    return `the server "${server}" is not in it`
  if (mode.tools && !mode.tools.some((pattern) => fits(pattern, id))) return 'it is not among its tools'
  const group = groupOf(action)
  if (mode.groups && !mode.groups.includes(group)) return `it belongs to the group "${group}"`
  return undefined
}

export const groupOf = ({ readOnly, destructive }: Pick<Action, 'readOnly' | 'destructive'>): ActionGroup =>
  readOnly ? 'read' : destructive ? 'destructive' : 'write'

/** Open actions are available in every mode. */
export const allowsLevel = ({ levels }: Pick<Mode, 'levels'>, level: Level): boolean =>
  level === 'open' || levels.includes(level)

/** Whether a mode wants a person who signed in more recently. */
export const wantsSignIn = (
  { sign_in_within_seconds: seconds }: Pick<Mode, 'sign_in_within_seconds'>,
  level: Level,
  { signedInAt }: Pick<Principal, 'signedInAt'>,
  now = Date.now(),
): boolean => seconds !== null && level !== 'open' && (signedInAt === undefined || now - signedInAt > seconds * 1000)

const fits = (pattern: string, id: string): boolean =>
  pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : pattern === id

const none: readonly string[] = []

/**
 * The modes of a principal's calls, each of which must allow them: its own, which is the one that the request chose or its
 * default, and those of the agents and sessions that act for it.
 */
export function modeNamesOf({ mode, modes, within = none }: Principal): readonly string[] {
  const own = mode ?? modes?.[0]
  if (own === undefined) return within
  return within.length === 0 ? [own] : [...new Set([own, ...within])]
}

/** What a run keeps of the request that started it, because the principal is read again for each step. */
export interface CallerState {
  readonly mode?: string | undefined
  readonly within?: readonly string[] | undefined
  readonly signed_in_at?: number | undefined
}

export const callerStateOf = ({ mode, within, signedInAt }: Principal): CallerState => ({
  mode,
  within,
  signed_in_at: signedInAt,
})

/** Adds the modes of the agent and the session that act for the caller. */
export function withModes(caller: CallerState, ...modes: readonly (string | null)[]): CallerState {
  const within = [...new Set([...(caller.within ?? none), ...modes.filter((slug) => slug !== null)])]
  return within.length > 0 ? { ...caller, within } : caller
}

/** The principal as it was when the run started. A mode that its key has lost since does not count any more. */
export const asCaller = (
  principal: Principal,
  { mode, within, signed_in_at: signedInAt }: CallerState = {},
): Principal => ({
  ...principal,
  ...(mode !== undefined && principal.modes?.includes(mode) && { mode }),
  ...(within && { within }),
  ...(signedInAt !== undefined && { signedInAt }),
})
