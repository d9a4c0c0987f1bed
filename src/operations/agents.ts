import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { toolboxOf } from '../agents/toolbox.ts'
import { toolResource } from '../dispatch/authorize.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { Agent, type AgentDraft, AgentFields, type ToolChoice } from '../model/agent.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import { requireMode, requireModeChange } from './granting-modes.ts'
import { acts, type Context, creates, lists, type RecordKind } from './operation.ts'

export const agent: RecordKind<Agent> = {
  name: 'agent',
  find: (id, store) => store.agents.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'agent', id }),
}

const { name, ai_provider_id, ...rest } = AgentFields

export const createAgent = creates({
  name: 'create-agent',
  permission: 'agents:CreateAgent',
  route: 'POST /agents',
  summary: 'Create an agent: a model with instructions and tools',
  example: { name: 'support', ai_provider_id: 'aip_0mh1k2x9c4f', instructions: 'Help customers with their orders.' },
  kind: 'agent',
  input: z.strictObject({
    project_id: Id.optional(),
    name,
    ai_provider_id,
    model: rest.model.default(null),
    instructions: rest.instructions.default(null),
    tool_ids: rest.tool_ids.default([]),
    active_tool_ids: rest.active_tool_ids.default(null),
    tool_choice: rest.tool_choice.default('auto'),
    stop_conditions: rest.stop_conditions.default([]),
    step_rules: rest.step_rules.default([]),
    max_steps: rest.max_steps.default(20),
    temperature: rest.temperature.default(null),
    boundary_policy: rest.boundary_policy.default(null),
    max_context_messages: rest.max_context_messages.default(null),
    mode: rest.mode.default(null),
  }),
  output: Agent,
  async run({ project_id: _, ...draft }, context) {
    await requireSound(draft, { ...context, attached: [] })
    if (draft.mode !== null) await requireMode(draft.mode, context.projectId, context)
    return context.store.agents.create(context.projectId, draft)
  },
})

export const listAgents = lists({
  name: 'list-agents',
  permission: 'agents:ListAgents',
  route: 'GET /agents',
  summary: 'List agents',
  of: agent,
  input: z.strictObject({ project_id: Id.optional(), name: Text.max(200).optional(), ...Paging }),
  output: pageOf(Agent),
  run: (input, { store, visible }) => store.agents.list(input, visible),
})

export const getAgent = acts({
  name: 'get-agent',
  permission: 'agents:GetAgent',
  route: 'GET /agents/{agent_id}',
  summary: 'Get an agent',
  on: agent,
  input: z.strictObject({ id: Id }),
  output: Agent,
  run: async (_, { target }) => target,
})

export const updateAgent = acts({
  name: 'update-agent',
  permission: 'agents:UpdateAgent',
  route: 'PATCH /agents/{agent_id}',
  summary: 'Change an agent; running generations keep the old settings',
  example: { instructions: 'Help customers, in their own language.' },
  on: agent,
  input: z.strictObject({ id: Id, ...z.object(AgentFields).partial().shape }),
  output: Agent,
  async run({ id, ...change }, context) {
    const { target, store } = context
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    const draft: AgentDraft = { ...target, ...given }
    await requireSound(draft, { ...context, projectId: target.project_id, attached: target.tool_ids })
    await requireModeChange(target.mode, draft.mode, target.project_id, context)
    return (await store.agents.update(id, draft)) ?? target
  },
})

export const deleteAgent = acts({
  name: 'delete-agent',
  permission: 'agents:DeleteAgent',
  route: 'DELETE /agents/{agent_id}',
  summary: 'Delete an agent; its generations and calls are kept',
  status: 204,
  on: agent,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.agents.remove(id)
    return null
  },
})

type Checking = Pick<Context, 'store' | 'catalogue' | 'principal'> & {
  readonly projectId: string
  /** Tools already attached by someone who was allowed to. */
  readonly attached: readonly string[]
}

/** Rejects an agent that could not run, and reports everything that is wrong with it. */
async function requireSound(draft: AgentDraft, checking: Checking): Promise<void> {
  const provider = await checking.store.aiProviders.find(draft.ai_provider_id)
  const errors: Fault[] = [
    ...(provider?.project_id === checking.projectId
      ? []
      : [{ path: 'ai_provider_id', message: `there is no AI provider "${draft.ai_provider_id}" in this project` }]),
    ...(await checkTools(draft, checking)),
    ...(await checkSteps(draft, checking)),
  ]
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
}

/** Anyone who can run an agent can use its tools. So you can attach only tools that you can call. */
async function checkTools(
  { tool_ids }: AgentDraft,
  { store, principal, projectId, attached }: Checking,
): Promise<Fault[]> {
  const faults = await Promise.all(
    tool_ids.map(async (id, index): Promise<Fault[]> => {
      const path = `tool_ids[${index}]`
      if (tool_ids.indexOf(id) !== index) return [{ path, message: `"${id}" is listed twice` }]
      const tool = await store.tools.find(id)
      const mayCall =
        attached.includes(id) || (tool && evaluate(principal, 'tools:CallTool', toolResource(tool)).allowed)
      if (tool?.project_id === projectId && mayCall) return []
      return [{ path, message: `there is no tool "${id}" in this project that this key can call` }]
    }),
  )
  return faults.flat()
}

export type StepSettings = Pick<
  AgentDraft,
  'tool_ids' | 'active_tool_ids' | 'tool_choice' | 'stop_conditions' | 'step_rules' | 'max_steps'
>

/** Step rules must refer to tools that the agent has and to steps that can happen. */
export async function checkSteps(
  { tool_ids, active_tool_ids, tool_choice, stop_conditions, step_rules, max_steps }: StepSettings,
  { store, catalogue, projectId }: Pick<Checking, 'store' | 'catalogue' | 'projectId'>,
): Promise<Fault[]> {
  const faults: Fault[] = []
  const checkIds = (ids: readonly string[] | null | undefined, path: string) => {
    for (const [index, id] of (ids ?? []).entries()) {
      if (!tool_ids.includes(id)) faults.push({ path: `${path}[${index}]`, message: `"${id}" is not one of tool_ids` })
    }
  }
  const named: { name: string; path: string }[] = stop_conditions.map(({ tool_name: name }, index) => ({
    name,
    path: `stop_conditions[${index}].tool_name`,
  }))
  const choose = (choice: ToolChoice | undefined, path: string) => {
    if (typeof choice === 'object') named.push({ name: choice.tool_name, path: `${path}.tool_name` })
  }
  checkIds(active_tool_ids, 'active_tool_ids')
  choose(tool_choice, 'tool_choice')
  for (const [index, rule] of step_rules.entries()) {
    const path = `step_rules[${index}]`
    if (rule.step > max_steps) {
      faults.push({ path: `${path}.step`, message: `is ${rule.step}, but the run ends after ${max_steps} steps` })
    }
    checkIds(rule.active_tool_ids, `${path}.active_tool_ids`)
    choose(rule.tool_choice, `${path}.tool_choice`)
  }
  return named.length === 0
    ? faults
    : [...faults, ...(await checkNames(named, tool_ids, { store, catalogue, projectId }))]
}

async function checkNames(
  named: readonly { readonly name: string; readonly path: string }[],
  toolIds: readonly string[],
  { store, catalogue, projectId }: Pick<Checking, 'store' | 'catalogue' | 'projectId'>,
): Promise<Fault[]> {
  const toolbox = await toolboxOf(toolIds, projectId, catalogue)
  // The tools of an unreachable server are unknown, so any name with its prefix is accepted.
  const away = await Promise.all(toolbox.missing.map((id) => store.tools.find(id)))
  return named.flatMap(({ name: wanted, path }) => {
    if (toolbox.find(wanted) || away.some((tool) => tool && wanted.startsWith(`${tool.name}_`))) return []
    const hint = orDidYouMean(wanted, toolbox.names) || `; it has ${quoted(toolbox.names) || 'none'}`
    return [{ path, message: `the agent has no tool "${wanted}"${hint}` }]
  })
}

const quoted = (names: readonly string[]) => names.map((one) => `"${one}"`).join(', ')
