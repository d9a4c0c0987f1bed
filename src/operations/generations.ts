import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { callView, detailOf, pendingOf } from '../agents/result.ts'
import type { GenerationEvent } from '../agents/watch.ts'
import { AnyJson, type JsonObject } from '../lib/json.ts'
import { AgentFields, StepRule, ToolChoice } from '../model/agent.ts'
import { EndUserId } from '../model/connection.ts'
import { PlatformError } from '../model/errors.ts'
import {
  Generation,
  GenerationDetail,
  GenerationResult,
  GenerationStatus,
  isOver,
  TraceNode,
} from '../model/generation.ts'
import { Waiting } from '../model/outcome.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import type { Run } from '../store/generations.ts'
import type { Journal } from '../store/journal.ts'
import { agent, checkSteps } from './agents.ts'
import { InputMessage } from './generation-input.ts'
import { answerOf, later, streamOf } from './generation-reply.ts'
import { acts, lists, type RecordKind } from './operation.ts'
import { startRun } from './start-generation.ts'

const generation: RecordKind<Generation> = {
  name: 'generation',
  find: (id, store) => store.generations.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'generation', id }),
}

const ContextKey = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be 1 to 64 letters, digits and "-"')
const ContextValue = z
  .string()
  .max(2000)
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')

const overrides = {
  tool_choice: ToolChoice.optional(),
  active_tool_ids: z.array(Id).max(500).optional(),
  step_rules: z.array(StepRule).max(200).optional(),
}

export const createAgentGeneration = acts({
  name: 'create-agent-generation',
  permission: 'agents:CreateAgentGeneration',
  route: 'POST /agents/{agent_id}/generate',
  summary: 'Run an agent until it answers or needs input',
  example: { prompt: 'Where is order 1042?' },
  later: GenerationResult,
  // The same call always gets the same run, so a retry is safe.
  repeatable: true,
  on: agent,
  input: z.strictObject({
    id: Id,
    prompt: Text.min(1).max(1_000_000).optional().describe('The prompt; added after the messages, if there are any'),
    messages: z.array(InputMessage).min(1).max(1000).optional().describe('Earlier messages of the conversation'),
    ...overrides,
    stop_conditions: AgentFields.stop_conditions.optional(),
    max_steps: AgentFields.max_steps.optional(),
    max_call_depth: z.int().min(0).max(10).optional().describe('Maximum depth of agents that call agents'),
    end_user_id: EndUserId.nullish().describe('The end user whose connections the run uses; needs connections:ActAs'),
    tool_context: z
      .record(ContextKey, ContextValue)
      .optional()
      .describe('Sent to http and mcp tools as X-Quartermaster-Context-<key> headers'),
    stream: z.boolean().optional().describe('Stream the response as server-sent events'),
    stream_format: z
      .enum(['openai', 'events'])
      .optional()
      .describe('openai: chunks in OpenAI’s format; events: all events of the run'),
    async: z.boolean().optional().describe('Return 202 immediately; poll the generation or use a webhook'),
  }),
  output: GenerationResult,
  async run(input, context) {
    const run = await startRun(input, context)
    if (run instanceof Waiting) return run
    if (input.async && context.onWait !== 'resume') return later(await context.runner.result(run))
    if (input.stream && !context.generation) return streamOf(run, input.stream_format ?? 'openai', context)
    return answerOf(run, context)
  },
})

export const submitToolOutputs = acts({
  name: 'submit-tool-outputs',
  permission: 'agents:CreateAgentGeneration',
  route: 'POST /agents/{agent_id}/generate/{generation_id}/tool-outputs',
  summary: 'Submit the outputs of client tools and resume the generation',
  example: { tool_outputs: [{ tool_call_id: 'call_xyz', output: 'col1,col2' }] },
  later: GenerationResult,
  on: agent,
  input: z.strictObject({
    id: Id,
    generation_id: Id,
    tool_outputs: z
      .array(
        z
          .object({
            tool_call_id: z.string().min(1).max(500).optional(),
            id: z.string().min(1).max(500).optional().describe('The same as tool_call_id'),
            generation_id: Id.optional().describe('As in required_action, if present'),
            output: AnyJson.refine((value) => value !== undefined, 'is missing'),
            is_error: z.boolean().default(false).describe('The tool failed; the output contains the error'),
          })
          .strict()
          .refine((given) => given.tool_call_id ?? given.id, 'has no tool_call_id'),
      )
      .min(1)
      .max(500),
    ...overrides,
    defaults: z
      .strictObject({ tool_choice: overrides.tool_choice, active_tool_ids: overrides.active_tool_ids })
      .optional()
      .describe('Applies to all steps without a setting of their own'),
    stream: z.boolean().optional(),
    stream_format: z.enum(['openai', 'events']).optional(),
    async: z.boolean().optional(),
  }),
  output: GenerationResult,
  async run(input, context) {
    const { runner, store, target, principal } = context
    const run = await store.generations.find(input.generation_id)
    const seen =
      run?.agent_id === target.id &&
      (run.started_by.id === principal.id ||
        evaluate(principal, 'agents:GetGeneration', generation.resource(run)).allowed)
    if (!run || !seen) throw new PlatformError('GENERATION_NOT_FOUND', { generation_id: input.generation_id })
    const { tool_choice, active_tool_ids, step_rules = [], defaults = {} } = input
    const { settings } = run
    const rules = [
      ...step_rules,
      ...(tool_choice || active_tool_ids ? [{ step: 1, tool_choice, active_tool_ids }] : []),
    ]
    const errors = await checkSteps(
      {
        tool_ids: [...settings.tool_ids],
        active_tool_ids: defaults.active_tool_ids ?? null,
        tool_choice: defaults.tool_choice ?? 'auto',
        stop_conditions: [],
        step_rules: rules,
        max_steps: settings.max_steps,
      },
      { ...context, projectId: run.project_id },
    )
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    // A streaming client already has everything up to its outputs, so the stream leaves that out.
    const journal = input.stream ? await store.journals.read(run.id) : undefined
    await runner.submit(run, {
      tool_outputs: input.tool_outputs.map(({ tool_call_id, id, generation_id, output, is_error }) => ({
        tool_call_id: (tool_call_id ?? id) as string,
        generation_id,
        output,
        is_error,
      })),
      settings: { tool_choice, active_tool_ids, step_rules, defaults },
    })
    // A run inside another run must not block on it: it could end up waiting for itself.
    const isLater = input.async || context.generation !== undefined
    if (isLater) return later(await runner.result((await store.generations.find(run.id)) ?? run))
    if (input.stream) return streamOf(run, input.stream_format ?? 'openai', context, journal)
    return answerOf(run, context)
  },
})

export const listGenerations = lists({
  name: 'list-generations',
  permission: 'agents:ListGenerations',
  route: 'GET /generations',
  summary: 'List generations, newest first',
  of: generation,
  input: z.strictObject({
    project_id: Id.optional(),
    agent_id: Id.optional(),
    status: GenerationStatus.optional(),
    trace_id: Id.optional(),
    ...Paging,
  }),
  output: pageOf(Generation),
  run: (input, { store, visible }) => store.generations.list(input, visible),
})

export const getGeneration = acts({
  name: 'get-generation',
  permission: 'agents:GetGeneration',
  route: 'GET /generations/{generation_id}',
  summary: 'Get a generation with its steps, calls and result',
  on: generation as RecordKind<Run>,
  input: z.strictObject({ id: Id }),
  output: GenerationDetail,
  run: async (_, { store, target, runner, principal }) =>
    detailFor(principal, target, await store.journals.read(target.id), await runner.pending(target.id)),
})

/**
 * Preset arguments of client tools are shown only to callers who can run the tools, not to those who can only read the
 * run.
 */
function detailFor(
  principal: Principal,
  run: Run,
  journal: Journal,
  pending = pendingOf(journal.calls),
): GenerationDetail {
  const resource = { projectId: run.project_id, kind: 'agent', id: run.agent_id }
  const runsTools =
    run.started_by.id === principal.id || evaluate(principal, 'agents:CreateAgentGeneration', resource).allowed
  if (runsTools) return detailOf(run, journal, pending)
  const sent = new Map(journal.calls.map(callView).map(({ tool_call_id, args }) => [tool_call_id, args]))
  const tool_calls = pending.tool_calls.map((call) => ({
    ...call,
    args: (sent.get(call.tool_call_id) ?? {}) as JsonObject,
  }))
  return detailOf(run, journal, { ...pending, tool_calls })
}

export const getGenerationTrace = acts({
  name: 'get-generation-trace',
  permission: 'agents:GetGeneration',
  route: 'GET /generations/{generation_id}/trace',
  summary: 'Get a generation and all runs it started, as a tree',
  on: generation as RecordKind<Run>,
  input: z.strictObject({ id: Id }),
  output: TraceNode,
  async run(_, { store, target, principal }) {
    const all = await store.generations.trace(target.trace_id)
    const runs = all.filter((run) => evaluate(principal, 'agents:GetGeneration', generation.resource(run)).allowed)
    const details = await Promise.all(
      runs.map(async (run) => detailFor(principal, run, await store.journals.read(run.id))),
    )
    const nodeOf = (detail: GenerationDetail): TraceNode => ({
      ...detail,
      children: details.filter((one) => one.initiator_generation_id === detail.id).map(nodeOf),
    })
    return nodeOf(
      details.find(({ id }) => id === target.id) ?? detailFor(principal, target, await store.journals.read(target.id)),
    )
  },
})

export const cancelGeneration = acts({
  name: 'cancel-generation',
  permission: 'agents:CancelGeneration',
  route: 'POST /generations/{generation_id}/cancel',
  summary: 'Cancel a generation; effects of its calls are not undone',
  example: {},
  on: generation as RecordKind<Run>,
  input: z.strictObject({ id: Id }),
  output: GenerationResult,
  async run({ id }, { runner }) {
    await runner.cancel(id)
    // Until the process that advances the run sees the cancellation, it may pause for another reason. Wait for the end.
    return runner.result(await runner.settled(id, isOver))
  },
})

export const watchGeneration = acts({
  name: 'watch-generation',
  permission: 'agents:GetGeneration',
  route: 'GET /generations/{generation_id}/events',
  summary: 'Stream the events of a generation until it ends or needs input',
  answers: 'events',
  on: generation as RecordKind<Run>,
  input: z.strictObject({ id: Id }),
  output: z.custom<GenerationEvent>().meta({ type: 'object' }),
  async run(_, context) {
    const { target, principal, authenticator } = context
    const stream = streamOf(target, 'events', context)
    return {
      async subscribe(send, end) {
        const stopAsking = authenticator.onChange(principal, end)
        const stopWatching = await stream.subscribe(send, end)
        return () => {
          stopAsking()
          stopWatching()
        }
      },
    }
  },
})
