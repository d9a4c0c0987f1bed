import { z } from 'zod'
import { evaluate, isDenied, type Resource } from '../access/evaluate.ts'
import { asks } from '../approvals/gates.ts'
import { findByName } from '../catalogue/names.ts'
import type { VisibilityFacts } from '../db/page.ts'
import { toolResource } from '../dispatch/authorize.ts'
import { findModes, modeObjection } from '../dispatch/mode.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import type { Agent } from '../model/agent.ts'
import { PlatformError } from '../model/errors.ts'
import { asCaller, type Mode, modeNamesOf, wantsSignIn, withModes } from '../model/mode.ts'
import { Id } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import { Level } from '../model/tool.ts'
import { agent as agentKind } from './agents.ts'
import type { Context, RecordKind } from './operation.ts'
import { server as serverKind } from './servers.ts'
import { session as sessionKind } from './sessions.ts'
import { tool as toolKind } from './tools.ts'

/** What is known of a call beside the caller. */
export const CallQuestion = {
  action: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('With tools:CallTool, the action to call. Its level is also checked against the modes of the call'),
  mode: z.string().min(1).max(63).optional().describe('With action: the mode that the request chooses'),
  server_id: Id.optional().describe('With action: the MCP server that the call comes through'),
  agent_id: Id.optional().describe('With action: the agent that makes the call'),
  session_id: Id.optional().describe('With action: the session in which the agent makes the call'),
}

export const CallAnswer = {
  level: Level.nullable().describe('The level of the action, if one was given'),
  modes: z.array(z.string()).describe('The modes of the call. Each of them must allow it'),
  sign_in_within_seconds: z
    .int()
    .nullable()
    .describe('How recently the person must have signed in; null if that does not matter'),
  needs_approval: z
    .boolean()
    .nullable()
    .describe('Whether the tool, the level or the server requires approval. Approval rules can require it as well'),
}

export type CallAnswer = z.infer<z.ZodObject<typeof CallAnswer>>
export const noCall: CallAnswer = { level: null, modes: [], sign_in_within_seconds: null, needs_approval: null }

export type Question = { readonly [Field in keyof typeof CallQuestion]?: string | undefined }

export interface CheckedCall extends CallAnswer {
  /** Why the modes do not allow the call. */
  readonly objection?: string
  /** The agent that has the tool. Callers who can run the agent can use the tool through it. */
  readonly agent?: Agent
  /** The tool, with its own project. */
  readonly tool?: Resource
}

/** Finds the action and the modes of a call that is not made. */
export async function checkCall(
  holder: Principal,
  toolId: string,
  question: Question & { readonly action: string },
  context: Context,
): Promise<CheckedCall> {
  const target = await read(toolKind, toolId, 'tools:GetTool', context)
  const { server_id, agent_id, session_id, mode: chosen } = question
  const server = server_id ? await read(serverKind, server_id, 'servers:GetServer', context) : undefined
  const agent = agent_id ? await read(agentKind, agent_id, 'agents:GetAgent', context) : undefined
  const session = session_id ? await read(sessionKind, session_id, 'sessions:GetSession', context) : undefined
  const { entry, prepared } = await findAction(target.id, question.action, context)
  const { level } = prepared.action
  const has = agent?.tool_ids.includes(target.id) && !isDenied(holder, 'tools:CallTool', toolResource(target))
  const known = { ...noCall, level, tool: toolResource(target), ...(agent && has && { agent }) }
  if (chosen !== undefined && !holder.modes?.includes(chosen)) {
    return { ...known, modes: [chosen], objection: `The mode "${chosen}" is not one of its modes.` }
  }
  const caller = withModes({ mode: chosen }, agent?.mode ?? null, session?.mode ?? null)
  const names = modeNamesOf(asCaller(holder, caller))
  const found = await findModes(names, target.project_id, context.store.modes)
  const refusal = modeObjection(found, prepared.action, server)
  if (refusal) {
    const objection = `The mode "${refusal.name}" does not allow it: ${refusal.reason}.`
    return { ...known, modes: [...names], objection }
  }
  const modes = found.flatMap(({ mode }) => mode ?? [])
  const needs_approval = asks({ entry, prepared, server, ...(modes.length > 0 && { modes }) })
  return { ...known, modes: [...names], needs_approval, ...signInOf(modes, level, holder) }
}

function signInOf(modes: readonly Mode[], level: Level, { kind }: Principal) {
  const strict = modes.filter((mode) => wantsSignIn(mode, level, {}))
  const seconds = strict.flatMap(({ sign_in_within_seconds: limit }) => limit ?? [])
  if (seconds.length === 0) return {}
  const objection = `The mode "${strict[0]?.slug}" needs a person who signed in recently.`
  return { sign_in_within_seconds: Math.min(...seconds), ...(kind !== 'user' && { objection }) }
}

async function findAction(toolId: string, name: string, { catalogue }: Context) {
  const entry = await catalogue.find(toolId)
  const [prepared] = entry ? findByName(entry.actions, name) : []
  if (entry && prepared) return { entry, prepared }
  const message = `the tool has no action "${name}"${orDidYouMean(name, [...(entry?.actions.keys() ?? [])])}`
  throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'action', message }] })
}

/** A record that the caller can see. */
async function read<Noun extends VisibilityFacts>(
  kind: RecordKind<Noun>,
  id: string,
  permission: string,
  { store, principal }: Context,
): Promise<Noun> {
  const found = await kind.find(id, store)
  if (found && evaluate(principal, permission, kind.resource(found)).allowed) return found
  throw new PlatformError('RESOURCE_NOT_FOUND', { kind: kind.name, id })
}
