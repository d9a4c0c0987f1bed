import { z } from 'zod'
import { Text, Timestamp } from './page.ts'
import type { Principal } from './principal.ts'
import { type Action, Level } from './tool.ts'

const Pattern = z.string().min(1).max(200)

export const ModeFields = {
  slug: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9-]{0,62}$/,
      'must be a slug: 1 to 63 lowercase letters, digits and "-", starting with a letter or digit',
    ),
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

/** Why a mode does not allow an action; undefined if it does. */
export function objectionOf(
  mode: Pick<Mode, 'levels' | 'servers' | 'tools'>,
  { id, level }: Pick<Action, 'id' | 'level'>,
  server: string | undefined,
): string | undefined {
  if (!allowsLevel(mode, level)) return `its level is ${level}`
  if (mode.servers && server !== undefined && !mode.servers.includes(server))
    return `the server "${server}" is not in it`
  if (mode.tools && !mode.tools.some((pattern) => fits(pattern, id))) return 'it is not among its tools'
  return undefined
}

/** Open actions are available in every mode. */
export const allowsLevel = ({ levels }: Pick<Mode, 'levels'>, level: Level): boolean =>
  level === 'open' || levels.includes(level)

const fits = (pattern: string, id: string): boolean =>
  pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : pattern === id

/** The mode of a principal's calls: the one that the request chose, or the principal's default. */
export const modeNameOf = ({ mode, modes }: Principal): string | undefined => mode ?? modes?.[0]
