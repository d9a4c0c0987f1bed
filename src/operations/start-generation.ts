import type { Agent } from '../model/agent.ts'
import { PlatformError } from '../model/errors.ts'
import type { GenerationSettings } from '../model/generation.ts'
import { newId } from '../model/ids.ts'
import { callerStateOf, withModes } from '../model/mode.ts'
import { Waiting } from '../model/outcome.ts'
import type { Grant } from '../model/principal.ts'
import type { Run } from '../store/generations.ts'
import { actingAs } from './act-as.ts'
import { checkSteps } from './agents.ts'
import { type ConversationInput, messagesOf } from './generation-input.ts'
import type { Context } from './operation.ts'

type StartInput = ConversationInput & {
  readonly max_call_depth?: number | undefined
  readonly tool_context?: Readonly<Record<string, string>> | undefined
  readonly end_user_id?: string | null | undefined
  readonly stream?: boolean | undefined
} & {
  readonly [Field in 'tool_choice' | 'active_tool_ids' | 'step_rules' | 'stop_conditions' | 'max_steps']?:
    | Agent[Field]
    | undefined
}

const deepest = 10

/** Starts a run, or returns the run that the same call has already started. */
export async function startRun(
  input: StartInput,
  context: Context & { readonly target: Agent },
): Promise<Run | Waiting> {
  const { store, runner, target, principal, parentCallId } = context
  const known = context.generation && parentCallId ? await store.generations.findByParentCall(parentCallId) : undefined
  if (known) return known
  if (input.prompt === undefined && input.messages === undefined) {
    throw new PlatformError('VALIDATION_FAILED', {
      errors: [{ path: 'prompt', message: 'is missing: give a prompt or messages' }],
    })
  }
  const parent = context.generation && (await store.generations.find(context.generation.id))
  const settings = await settingsOf(input, parent, context)
  const messages = await messagesOf(input, context)
  if (messages instanceof Waiting) return messages
  const id = newId('agt_gen')
  return runner.start({
    id,
    project_id: target.project_id,
    agent_id: target.id,
    trace_id: parent?.trace_id ?? id.replace('agt_gen', 'trace'),
    parent_generation_id: parent?.id ?? null,
    parent_call_id: parentCallId,
    depth: context.depth,
    principal: { id: principal.id, name: principal.name },
    surface: context.surface,
    client: context.client,
    settings,
    input: messages,
  })
}

/** The settings of this run, frozen at its start: the agent's, overridden by the caller's. */
async function settingsOf(
  input: StartInput,
  parent: Run | undefined,
  context: Context & { readonly target: Agent },
): Promise<GenerationSettings> {
  const { target } = context
  const { ai_provider_id, model, instructions, tool_ids, temperature, max_context_messages, boundary_policy } = target
  const steps = {
    tool_ids,
    active_tool_ids: input.active_tool_ids ?? target.active_tool_ids,
    tool_choice: input.tool_choice ?? target.tool_choice,
    stop_conditions: input.stop_conditions ?? target.stop_conditions,
    step_rules: input.step_rules ?? target.step_rules,
    max_steps: input.max_steps ?? target.max_steps,
  }
  const isOwn = input.active_tool_ids ?? input.tool_choice ?? input.stop_conditions ?? input.step_rules
  const errors = isOwn ? await checkSteps(steps, { ...context, projectId: target.project_id }) : []
  const provider = await context.store.aiProviders.find(ai_provider_id)
  if (!provider)
    errors.push({
      path: '',
      message: `the agent's AI provider "${ai_provider_id}" was deleted: set another one on the agent`,
    })
  else if (model === null && provider.default_model === null && provider.type !== 'replay') {
    errors.push({ path: '', message: 'no model is set: set a model on the agent or default_model on its AI provider' })
  }
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  const own: readonly Grant[][] = boundary_policy
    ? [[{ policyId: `${target.id}/boundary_policy`, statements: boundary_policy.statement }]]
    : []
  return {
    ...{ ai_provider_id, model, instructions, temperature, max_context_messages, ...steps },
    boundaries: [...(parent?.settings.boundaries ?? []), ...own],
    caller: withModes(callerStateOf(context.principal), target.mode),
    max_call_depth: Math.min(input.max_call_depth ?? deepest, parent ? parent.settings.max_call_depth - 1 : deepest),
    tool_context: { ...parent?.settings.tool_context, ...input.tool_context },
    end_user_id: actingAs(context, input.end_user_id, target.project_id).endUserId,
    streamed: input.stream === true,
  }
}
