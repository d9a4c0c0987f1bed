import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { openAiStream } from '../agents/openai-stream.ts'
import { callView, detailOf, failureOf, pendingOf } from '../agents/result.ts'
import type { GenerationEvent } from '../agents/watch.ts'
import { AnyJson, isObject, type Json, type JsonObject } from '../lib/json.ts'
import { type Agent, AgentFields, StepRule, ToolChoice } from '../model/agent.ts'
import { PlatformError } from '../model/errors.ts'
import {
  Generation,
  GenerationDetail,
  GenerationResult,
  type GenerationSettings,
  GenerationStatus,
  isOver,
  type TraceNode,
} from '../model/generation.ts'
import { newId } from '../model/ids.ts'
import type { ContentPart, Message } from '../model/message.ts'
import { Waiting } from '../model/outcome.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import type { Grant, Principal } from '../model/principal.ts'
import { jsonObject } from '../model/tool.ts'
import type { Run } from '../store/generations.ts'
import type { Journal } from '../store/journal.ts'
import { whenAccessChanges } from './access-changes.ts'
import { agent, checkSteps } from './agents.ts'
import { acts, type Context, type EventStream, JsonText, type Kind, lists } from './operation.ts'
import { call } from './tools.ts'

const generation: Kind<Generation> = {
  name: 'generation',
  find: (id, store) => store.generations.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'generation', id }),
}

const Part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: Text }),
  z.strictObject({
    type: z.literal('image'),
    media_type: z.string().regex(/^image\/[a-z0-9.+-]+$/i, 'must be the type of an image'),
    data: z.base64(),
  }),
  z.strictObject({
    type: z.literal('image_url'),
    url: z
      .string()
      .max(8192)
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https address'),
  }),
])

/** What is to be said, or where it is to be found. */
const Content = z.union([
  Text,
  z.array(Part).min(1).max(100),
  z.strictObject({ type: z.literal('document'), document_id: Id }),
  z.strictObject({
    type: z.literal('tool_output'),
    tool_id: Id,
    action: Text.max(200).optional(),
    input: jsonObject('The arguments').optional(),
    output_path: z
      .string()
      .regex(/^\.?([A-Za-z0-9_-]+|\[\d+\])(\.[A-Za-z0-9_-]+|\[\d+\])*$/, 'must be a path such as ".data.items[0]"')
      .optional(),
  }),
])

const InputMessage = z.union([
  z.strictObject({ role: z.enum(['system', 'user']), content: Content }),
  z.strictObject({
    role: z.literal('assistant'),
    content: Text.nullable(),
    tool_calls: z
      .array(
        z.strictObject({
          id: z.string().min(1),
          name: z.string().min(1),
          args: z.union([z.string(), jsonObject('The arguments')]),
        }),
      )
      .optional(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    tool_call_id: z.string().min(1),
    tool_name: z.string().min(1),
    output: AnyJson,
    is_error: z.boolean().default(false),
  }),
])

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
  summary: 'Run an agent until it has answered, or needs something',
  example: { prompt: 'Where is order 1042?' },
  later: GenerationResult,
  // One call starts one run.
  repeatable: true,
  on: agent,
  input: z.strictObject({
    id: Id,
    prompt: Text.min(1).max(1_000_000).optional().describe('What to do; after the messages, if there are some'),
    messages: z.array(InputMessage).min(1).max(1000).optional().describe('A conversation to go on with'),
    ...overrides,
    stop_conditions: AgentFields.stop_conditions.optional(),
    max_steps: AgentFields.max_steps.optional(),
    max_call_depth: z.int().min(0).max(10).optional().describe('How deep agents may call agents'),
    tool_context: z
      .record(ContextKey, ContextValue)
      .optional()
      .describe('Sent along to http and mcp tools as X-Quartermaster-Context-<key> headers'),
    stream: z.boolean().optional().describe('Answer with server-sent events, as they come'),
    stream_format: z
      .enum(['openai', 'events'])
      .optional()
      .describe('openai: chunks that OpenAI’s clients read; events: everything that happens'),
    async: z.boolean().optional().describe('Answer 202 at once; look at the generation, or have a webhook told'),
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
  summary: 'Give a generation what the caller’s own tools answered, and let it go on',
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
            generation_id: Id.optional().describe('As in required_action, where it is there'),
            output: AnyJson.refine((value) => value !== undefined, 'is missing'),
            is_error: z.boolean().default(false).describe('The tool failed, and the output says how'),
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
      .describe('For all steps that nothing else is said of'),
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
    // Who streams hears what comes after the outputs, and nothing twice.
    const told = input.stream ? await store.journals.read(run.id) : undefined
    await runner.submit(run, {
      tool_outputs: input.tool_outputs.map(({ tool_call_id, id, generation_id, output, is_error }) => ({
        tool_call_id: (tool_call_id ?? id) as string,
        generation_id,
        output: output as Json,
        is_error,
      })),
      settings: { tool_choice, active_tool_ids, step_rules, defaults },
    })
    // A run that waited for one that it did not start could wait for itself.
    const isLater = input.async || context.generation !== undefined
    if (isLater) return later(await runner.result((await store.generations.find(run.id)) ?? run))
    if (input.stream) return streamOf(run, input.stream_format ?? 'openai', context, told)
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
  summary: 'Get a generation whole: each step, each call, and what it came to',
  on: generation as Kind<Run>,
  input: z.strictObject({ id: Id }),
  output: GenerationDetail,
  run: async (_, { store, target, runner, principal }) =>
    detailFor(principal, target, await store.journals.read(target.id), await runner.pending(target.id)),
})

/** What is fixed on a client tool is told to those who run it, and to nobody who only reads the run. */
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
  summary: 'Get a generation with all that it started, as a tree',
  on: generation as Kind<Run>,
  input: z.strictObject({ id: Id }),
  output: z.custom<TraceNode>().meta({ type: 'object', description: 'A generation with its `children`' }),
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
  summary: 'Stop a generation; what its calls have done stays done',
  example: {},
  on: generation as Kind<Run>,
  input: z.strictObject({ id: Id }),
  output: GenerationResult,
  async run({ id }, { runner }) {
    await runner.cancel(id)
    // It may rest for another reason until the word has reached whoever goes on with it.
    return runner.result(await runner.settled(id, isOver))
  },
})

export const watchGeneration = acts({
  name: 'watch-generation',
  permission: 'agents:GetGeneration',
  route: 'GET /generations/{generation_id}/events',
  summary: 'Hear of all that a generation does, as server-sent events, until it rests',
  answers: 'events',
  on: generation as Kind<Run>,
  input: z.strictObject({ id: Id }),
  output: z.custom<GenerationEvent>().meta({ type: 'object' }),
  async run(_, context) {
    const { target, principal, store } = context
    const stream = streamOf(target, 'events', context)
    return {
      async subscribe(send, end) {
        const stopAsking = whenAccessChanges(principal, store, end)
        const stopWatching = await stream.subscribe(send, end)
        return () => {
          stopAsking()
          stopWatching()
        }
      },
    }
  },
})

type StartInput = {
  readonly prompt?: string | undefined
  readonly messages?: readonly z.infer<typeof InputMessage>[] | undefined
  readonly max_call_depth?: number | undefined
  readonly tool_context?: Readonly<Record<string, string>> | undefined
  readonly stream?: boolean | undefined
} & {
  readonly [Field in 'tool_choice' | 'active_tool_ids' | 'step_rules' | 'stop_conditions' | 'max_steps']?:
    | Agent[Field]
    | undefined
}

const deepest = 10

async function startRun(input: StartInput, context: Context & { readonly target: Agent }): Promise<Run | Waiting> {
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

/** What holds for this run: the agent's, but for what the caller said, and frozen. */
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
    errors.push({ path: '', message: `the agent's AI provider "${ai_provider_id}" is gone: give it another one` })
  else if (model === null && provider.default_model === null && provider.type !== 'replay') {
    errors.push({ path: '', message: 'neither the agent nor its AI provider says which model to use' })
  }
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  const own: readonly Grant[][] = boundary_policy
    ? [[{ policyId: `${target.id}/boundary_policy`, statements: boundary_policy.statement }]]
    : []
  return {
    ...{ ai_provider_id, model, instructions, temperature, max_context_messages, ...steps },
    boundaries: [...(parent?.settings.boundaries ?? []), ...own],
    max_call_depth: Math.min(input.max_call_depth ?? deepest, parent ? parent.settings.max_call_depth - 1 : deepest),
    tool_context: { ...parent?.settings.tool_context, ...input.tool_context },
    streamed: input.stream === true,
  }
}

async function messagesOf({ prompt, messages = [] }: StartInput, context: Context): Promise<Message[] | Waiting> {
  const said = await Promise.all(
    messages.map(async (message): Promise<Message | Waiting> => {
      if (message.role === 'assistant') {
        const { tool_calls, ...rest } = message
        const written = tool_calls?.map(({ args, ...one }) => ({
          ...one,
          args: typeof args === 'string' ? args : JSON.stringify(args),
        }))
        return { ...rest, ...(written && { tool_calls: written }) }
      }
      if (message.role === 'tool') return message as Message
      const content = await contentOf(message.content, context)
      if (content instanceof Waiting) return content
      if (message.role === 'system') {
        return { role: 'system', content: typeof content === 'string' ? content : content.map(plainText).join('\n') }
      }
      return { role: 'user', content }
    }),
  )
  const waiting = said.find((one) => one instanceof Waiting)
  if (waiting) return waiting
  const spoken = said as Message[]
  return prompt === undefined ? spoken : [...spoken, { role: 'user', content: prompt }]
}

const plainText = (part: ContentPart) => (part.type === 'text' ? part.text : '(an image)')

async function contentOf(
  content: z.infer<typeof Content>,
  context: Context,
): Promise<string | ContentPart[] | Waiting> {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) {
    return content.map((part) => (part.type === 'image_url' ? { type: 'image', url: part.url } : part))
  }
  if (content.type === 'document') {
    const document = await context.store.documents.find(content.document_id)
    const missing = new PlatformError('RESOURCE_NOT_FOUND', { kind: 'document', id: content.document_id })
    if (!document) throw missing
    const { id, project_id, path, tags } = document
    const resource = { projectId: project_id, kind: 'document', id, path, tags }
    if (!evaluate(context.principal, 'documents:GetDocument', resource).allowed) throw missing
    return document.content
  }
  const output = await call(content.tool_id, content.action, content.input, context)
  if (output instanceof Waiting) return output
  const value = content.output_path === undefined ? output.value : pick(output.value, content.output_path)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** `.data.items[0].name` of a value; null where there is nothing. */
function pick(value: Json, path: string): Json {
  return [...path.matchAll(/[A-Za-z0-9_-]+/g)].reduce<Json>((at, [key]) => {
    if (Array.isArray(at)) return at[Number(key)] ?? null
    return isObject(at) && Object.hasOwn(at, key) ? ((at as JsonObject)[key] ?? null) : null
  }, value)
}

/** Waits until the run rests. A caller that resumes its call does not wait: it is told what for. */
async function answerOf(run: Run, context: Context): Promise<z.infer<typeof GenerationResult> | Waiting> {
  const { runner, store, onWait, generation: within } = context
  if (within && onWait === 'resume') {
    const current = (await store.generations.find(run.id)) ?? run
    if (!isOver(current.status)) return new Waiting({ kind: 'generation', id: run.id })
    return ended(await runner.result(current))
  }
  return ended(await runner.result(await runner.settled(run.id)))
}

const later = (result: z.infer<typeof GenerationResult>) => new JsonText(JSON.stringify(result), 202)

/** A run that failed is answered as the error it failed with. */
function ended(result: z.infer<typeof GenerationResult>): z.infer<typeof GenerationResult> {
  const failure = failureOf(result)
  if (failure) throw failure
  return result
}

/** What happens, until the run rests; without what the journal said when the reader had heard it before. */
function streamOf(run: Run, format: 'openai' | 'events', { runner }: Context, told?: Journal): EventStream {
  return {
    async subscribe(send, end) {
      const chunks = openAiStream(run.settings.model)
      return runner.watch(
        run.id,
        (event) => {
          if (format === 'events') send({ name: event.type, data: event })
          else for (const chunk of chunks(event)) send(chunk)
        },
        end,
        told,
      )
    },
  }
}
