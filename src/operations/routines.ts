import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { runOf } from '../agents/sessions/routine-runs.ts'
import { nearest } from '../lib/nearest.ts'
import type { Agent } from '../model/agent.ts'
import { PlatformError } from '../model/errors.ts'
import type { Guide, Routine } from '../model/guide.ts'
import { callerStateOf } from '../model/mode.ts'
import { Id, Text } from '../model/page.ts'
import { RoutineRun } from '../model/session.ts'
import { jsonObject } from '../model/tool.ts'
import { pathOf } from '../store/sessions.ts'
import { agent } from './agents.ts'
import { type Context, operation, requireAllowed } from './operation.ts'
import { findAgent, session } from './sessions.ts'

interface FoundRoutine {
  readonly agent: Agent
  readonly guide: Guide
  readonly routine: Routine
}

/** The autonomous routine with this id, of this agent or of the only one that has it. */
async function findRoutine(id: string, agentReference: string | undefined, context: Context): Promise<FoundRoutine> {
  const { store, principal } = context
  const agents = agentReference
    ? [await findAgent(agentReference, context)]
    : await store.agents.guided(principal.projectId)
  const may = agents.filter((one) => evaluate(principal, 'agents:CreateAgentGeneration', agent.resource(one)).allowed)
  const all: FoundRoutine[] = []
  for (const one of may) {
    const { guide_id = null } = (await store.agents.guideOf(one.id)) ?? {}
    const guide = guide_id === null ? undefined : await store.guides.find(guide_id)
    for (const routine of guide?.routines ?? [])
      if (guide && routine.autonomous) all.push({ agent: one, guide, routine })
  }
  const found = all.filter(({ routine }) => routine.id === id)
  if (found.length > 1) {
    const candidates = found.map((one) => ({ id: one.agent.id, project_id: one.agent.project_id }))
    throw new PlatformError('AMBIGUOUS_NAME', { kind: 'routine', name: id, candidates })
  }
  if (!found[0]) {
    const near = nearest(id, [...new Set(all.map(({ routine }) => routine.id))])
    throw new PlatformError('ROUTINE_NOT_FOUND', { routine_id: id, did_you_mean: near })
  }
  return found[0]
}

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })

export const triggerRoutine = operation({
  name: 'trigger-routine',
  permission: 'sessions:TriggerRoutine',
  route: 'POST /routines/{routine_id}/trigger',
  summary: 'Start an autonomous routine; its output is posted to the callback URL',
  example: { input: { order: '1042' } },
  status: 202,
  input: z.strictObject({
    id: Id,
    agent_id: Text.min(1).max(200).optional().describe('Id or name of the agent, if several have such a routine'),
    input: jsonObject('The input of the routine').default({}),
    callback_url: z
      .url({ protocol: /^https?$/ })
      .max(2000)
      .optional(),
    end_user_id: Text.min(1).max(200).nullable().default(null),
  }),
  output: RoutineRun,
  async run({ id, agent_id, input, callback_url = null, end_user_id }, context) {
    const { schemas, principal, routineRuns } = context
    const found = await findRoutine(id, agent_id, context)
    const { project_id, id: agentId } = found.agent
    const resource = { projectId: project_id, kind: 'session', id: '*', path: pathOf(agentId) }
    requireAllowed(principal, 'sessions:TriggerRoutine', resource)
    const { input_schema = null, callback_url_allowlist = [] } = found.routine.autonomous ?? {}
    const faults = input_schema === null ? [] : await schemas.compile(input_schema)(input)
    if (faults.length > 0) {
      const errors = faults.map(({ path, message }) => ({ path: path === '' ? 'input' : `input.${path}`, message }))
      throw new PlatformError('VALIDATION_FAILED', { errors })
    }
    if (callback_url !== null && !callback_url_allowlist.some((allowed) => isWithin(callback_url, allowed))) {
      throw invalid('callback_url', 'is not in the callback_url_allowlist of the routine')
    }
    return routineRuns.trigger({
      ...found,
      ...{ input, callbackUrl: callback_url, endUserId: end_user_id },
      principal: { id: principal.id, name: principal.name, caller: callerStateOf(principal) },
    })
  },
})

/** Whether a URL has the origin of an allowed one, and a path at or below its path. */
function isWithin(url: string, allowed: string): boolean {
  const wanted = URL.parse(url)
  const limit = URL.parse(allowed)
  if (!wanted || !limit || wanted.origin !== limit.origin || wanted.username || wanted.password) return false
  const path = limit.pathname.replace(/\/$/, '')
  return wanted.pathname === path || wanted.pathname.startsWith(`${path}/`)
}

export const getRoutineRun = operation({
  name: 'get-routine-run',
  permission: 'sessions:GetSession',
  route: 'GET /routines/{routine_id}/runs/{run_id}',
  summary: 'Get the run of an autonomous routine, with its output once it has ended',
  input: z.strictObject({ id: Id, run_id: Id }),
  output: RoutineRun,
  async run({ id, run_id }, { store, principal }) {
    const found = await store.sessions.find(run_id)
    const isVisible = found && evaluate(principal, 'sessions:GetSession', session.resource(found)).allowed
    if (!isVisible || found.run?.routine_id !== id) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'routine run', id: run_id })
    }
    return runOf({ ...found, run: found.run })
  },
})
