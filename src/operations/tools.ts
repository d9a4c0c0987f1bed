import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { evaluate, mayAlways, type Resource, resourceName } from '../access/evaluate.ts'
import { appOf, autoApprovesAll, type Catalogue } from '../catalogue/catalogue.ts'
import { dependentsOf } from '../catalogue/dependents.ts'
import { agentNames, generatedName } from '../catalogue/names.ts'
import { masked, maskedUrl } from '../credentials/tool-secrets.ts'
import { recordAttempt } from '../dispatch/attempt.ts'
import { toolResource } from '../dispatch/authorize.ts'
import { AnyJson, isObject, type JsonObject } from '../lib/json.ts'
import { PendingApproval } from '../model/approval.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { type Wait, Waiting } from '../model/outcome.ts'
import { Id, iso, Paging, pageOf, Text } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import { jsonObject, Level, type Output, Tool, type ToolDraft, ToolFields } from '../model/tool.ts'
import type { ToolRecord } from '../store/tools.ts'
import { findToolType, toolTypes } from '../tools/index.ts'
import type { ToolType } from '../tools/tool-type.ts'
import {
  acts,
  type Context,
  creates,
  JsonText,
  type Kind,
  lists,
  type Operation,
  operation,
  type Parts,
  type Request,
  requireAllowed,
} from './operation.ts'

export const tool: Kind<ToolRecord> = {
  name: 'tool',
  find: (id, store) => store.tools.find(id),
  resource: toolResource,
}

const { name, ...optionalFields } = ToolFields
const typeNames = toolTypes.flatMap(({ type, aliases = [] }) => [type, ...aliases]) as [string, ...string[]]
const Type = z.enum(typeNames)

const empty: Omit<ToolDraft, 'name' | 'type'> = {
  description: null,
  parameters: null,
  execute: null,
  mcp: null,
  actions: null,
  preset_parameters: null,
  app: null,
  pin_definitions: false,
  level: 'open',
  auto_approve: null,
  timeout_seconds: null,
  ask_destructive: false,
  approval_timeout_seconds: null,
}

const fields = z.object(optionalFields).partial().shape

export const createTool = creates({
  name: 'create-tool',
  permission: 'tools:CreateTool',
  route: 'POST /tools',
  summary: 'Register a tool',
  example: {
    name: 'get-weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: { url: 'https://api.example.com/weather/{city}', method: 'GET' },
  },
  kind: 'tool',
  input: z.strictObject({ project_id: Id.optional(), name, type: Type.default('http'), ...fields }),
  output: Tool,
  async run({ project_id: _, ...input }, context) {
    const draft = await checked({ ...empty, ...input }, context)
    requireUnbound(draft, undefined, context)
    requireRunning(draft, undefined, { projectId: context.projectId, kind: 'tool', id: '*' }, context)
    requireActions(draft, context.projectId, context)
    return present(await context.store.tools.create(context.projectId, draft), context)
  },
})

export const listTools = lists({
  name: 'list-tools',
  permission: 'tools:ListTools',
  route: 'GET /tools',
  summary: 'List tools',
  of: tool,
  input: z.strictObject({
    project_id: Id.optional(),
    type: Type.optional(),
    name: Text.max(64).optional(),
    ...Paging,
  }),
  output: pageOf(Tool),
  async run(input, context) {
    const { store, visible } = context
    const type = input.type && findToolType(input.type)?.type
    const page = await store.tools.list({ ...input, ...(type && { type }) }, visible)
    return { ...page, data: page.data.map((record) => presentTo(record, context)) }
  },
})

export const getTool = acts({
  name: 'get-tool',
  permission: 'tools:GetTool',
  route: 'GET /tools/{tool_id}',
  summary: 'Get a tool',
  on: tool,
  input: z.strictObject({ id: Id }),
  output: Tool,
  run: async (_, context) => presentTo(context.target, context),
})

export const updateTool = acts({
  name: 'update-tool',
  permission: 'tools:UpdateTool',
  route: 'PATCH /tools/{tool_id}',
  summary: 'Change a tool; the result is checked as if it were new',
  example: { timeout_seconds: 10 },
  on: tool,
  input: z.strictObject({ id: Id, name: name.optional(), type: Type.optional(), ...fields }),
  output: Tool,
  async run({ id, ...change }, context) {
    const { id: _id, project_id: _project, created_at: _created, updated_at: _updated, ...draft } = context.target
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    const next = await checked({ ...draft, ...(change.type && { type_alias: null }), ...given }, context)
    requireUnbound(next, draft, context)
    requireRunning(next, draft, toolResource(context.target), context)
    requireActions(next, context.target.project_id, context)
    const updated = await context.store.tools.update(id, next)
    return present(updated ?? context.target, context)
  },
})

export const deleteTool = acts({
  name: 'delete-tool',
  permission: 'tools:DeleteTool',
  route: 'DELETE /tools/{tool_id}',
  summary: 'Delete a tool; the record of its calls stays',
  status: 204,
  on: tool,
  input: z.strictObject({
    id: Id,
    force: z.boolean().optional().describe('Delete it even if agents or servers use it; they continue without it'),
  }),
  output: z.null(),
  async run({ id, force }, { store, catalogue, target }) {
    const dependents = force ? [] : await dependentsOf(target, { store, catalogue })
    if (dependents.length > 0) {
      throw new PlatformError('HAS_DEPENDENTS', { kind: 'tool', id: target.name, dependents, force: 'force=true' })
    }
    await store.tools.remove(id)
    await store.definitions.forget(id)
    return null
  },
})

const ActionView = z.object({
  id: z.string().describe('namespace:name'),
  name: z.string().describe('The action’s name within its tool'),
  tool_name: z.string().describe('The name that an agent sees'),
  server_tool_name: z
    .string()
    .describe(
      'The name that an MCP client sees at a server in direct mode, unless another action there has it already',
    ),
  description: z.string().nullable(),
  app: z.string(),
  level: Level,
  auto_approve: z.boolean(),
  withheld: z.boolean().describe('Described otherwise than before, and not accepted yet'),
  input_schema: z
    .custom<JsonObject>()
    .meta({ type: 'object' })
    .describe('What a caller is asked for: preset fields are gone'),
})

export const listToolActions = acts({
  name: 'list-tool-actions',
  permission: 'tools:ListToolActions',
  route: 'GET /tools/{tool_id}/actions',
  summary: 'List the actions of a tool as a model sees them',
  on: tool,
  input: z.strictObject({ id: Id, ...Paging }),
  output: pageOf(ActionView),
  async run({ limit, offset }, { catalogue, target }) {
    const views = await viewActions(catalogue, target)
    return { data: views.slice(offset, offset + limit), total: views.length, limit, offset }
  },
})

export const refreshTool = acts({
  name: 'refresh-tool',
  permission: 'tools:RefreshTool',
  route: 'POST /tools/{tool_id}/refresh',
  summary: 'Ask the MCP server behind a tool anew what it offers, instead of when its list has grown old',
  example: {},
  on: tool,
  input: z.strictObject({ id: Id }),
  output: z.object({
    actions: z.int().describe('How many it offers'),
    withheld: z.array(z.string()).describe('Those that are described otherwise than before, and not accepted yet'),
  }),
  async run(_, { catalogue, target, reach }) {
    findToolType(target.type)?.refresh?.(target, reach)
    // Throws where the server cannot be asked, and does not answer with what it offered before.
    await catalogue.describe(target)
    const views = await viewActions(catalogue, target)
    return { actions: views.length, withheld: views.flatMap(({ name, withheld }) => (withheld ? [name] : [])) }
  },
})

const Health = z.object({
  state: z
    .enum(['unknown', 'up', 'down'])
    .describe('unknown where there is nothing to be connected to, or nobody has tried'),
  failures: z.int().describe('Failures in a row'),
  error: z.string().nullable(),
  tools: z.int().nullable().describe('How many actions it had when it was last asked'),
  era: z.string().nullable().describe('Which protocol era it speaks'),
})

export const getToolHealth = acts({
  name: 'get-tool-health',
  permission: 'tools:GetToolHealth',
  route: 'GET /tools/{tool_id}/health',
  summary: 'See how the MCP server behind a tool was when it was last used',
  on: tool,
  input: z.strictObject({ id: Id }),
  output: Health,
  run: async (_, { target, reach }) =>
    findToolType(target.type)?.health?.(target, reach) ?? {
      state: 'unknown' as const,
      failures: 0,
      error: null,
      tools: null,
      era: null,
    },
})

const calling = operation({
  name: 'call-tool',
  permission: 'tools:CallTool',
  route: 'POST /tools/{tool_id}/call',
  summary: 'Call a tool and get what it answers',
  example: { input: { city: 'Recife' } },
  input: z.strictObject({
    id: Id,
    action: Text.max(200).nullish().describe('Which action, for tools that offer several'),
    input: jsonObject('The arguments').nullish(),
    wait: z
      .boolean()
      .optional()
      .describe('False: where a human must approve, do not wait for that; send the same call again later'),
  }),
  output: AnyJson.describe('Whatever the tool answers'),
  later: PendingApproval,
  async run({ id, action, input, wait }, context) {
    const returns = wait === false && context.onWait !== 'resume'
    const result = await call(id, action, input, returns ? { ...context, onWait: 'return' } : context)
    if (!(result instanceof Waiting)) return new JsonText(result.text)
    return returns ? pending(result.on) : result
  },
})

/** A request that cannot be read never reaches the door, and is in the record all the same. */
export const callTool: Operation = {
  ...calling,
  async perform(input, context) {
    try {
      return await calling.perform(input, context)
    } catch (error) {
      const isUnread = error instanceof PlatformError && error.code === 'VALIDATION_FAILED'
      if (isUnread && !calling.input.safeParse(input).success) await recordUnread(input, error, context)
      throw error
    }
  },
}

async function recordUnread(sent: unknown, error: PlatformError, context: Context): Promise<void> {
  const { id, input } = isObject(sent) ? sent : {}
  const { principal, store } = context
  const { data: toolId } = Id.safeParse(id)
  const found = toolId === undefined ? undefined : await store.tools.find(toolId)
  // Whoever may not call a tool does not learn from the record that there is one.
  const may = found && evaluate(principal, 'tools:CallTool', toolResource(found)).allowed
  const target = may ? { tool: found } : 'UNKNOWN_TOOL'
  await recordAttempt(
    store.calls,
    { ...context, id: newId('call'), projectId: principal.projectId, target, input: input ?? null },
    error,
  )
}

/** What a caller is told who does not wait for the decision. */
function pending(wait: Wait): JsonText {
  const { id, expiresAt } = wait as Extract<Wait, { kind: 'approval' }>
  const answer: z.infer<typeof PendingApproval> = {
    status: 'pending_approval',
    approval_id: id,
    expires_at: iso(expiresAt),
  }
  return new JsonText(JSON.stringify(answer), 202)
}

/** To the door, for whoever has a tool's id and its input. */
export async function call(
  toolId: string,
  action: string | null | undefined,
  input: JsonObject | null | undefined,
  context: Request & Pick<Parts, 'dispatch'>,
  id = newId('call'),
): Promise<Output | Waiting> {
  const { principal, surface, client, parentCallId, depth, live, generation, onWait, server, gone, home } = context
  const outcome = await context.dispatch({
    ...{ id, principal, surface, client, toolId, parentCallId, depth, live, generation, onWait, server, gone, home },
    action: action ?? undefined,
    input: input ?? {},
  })
  if (outcome.kind === 'refused') throw withoutRawAnswer(outcome.error, principal)
  return outcome.kind === 'done' ? outcome.output : outcome
}

/** What another system said in an error may hold anything: only those who may read the record see it. */
function withoutRawAnswer(error: unknown, principal: Principal): unknown {
  if (!(error instanceof PlatformError) || error.code !== 'TOOL_HTTP_ERROR') return error
  const reader = { projectId: principal.projectId, kind: 'call', id: '*' }
  if (evaluate(principal, 'calls:GetCall', reader).allowed) return error
  const { tool_response_body: _, ...details } = (error as PlatformError<'TOOL_HTTP_ERROR'>).details
  return new PlatformError('TOOL_HTTP_ERROR', details, { cause: error })
}

/** A tool as callers see it, with what was left out filled in. */
function present({ type_alias, ...record }: ToolRecord, { reach }: Pick<Context, 'reach'>): Tool {
  const type = findToolType(record.type) as ToolType
  return {
    ...record,
    type: type_alias ?? record.type,
    actions: record.actions && [...record.actions],
    app: appOf(record, type),
    auto_approve: autoApprovesAll(record, reach),
  }
}

/** What is fixed on a tool, and what it sends to prove who it is, are for those who may change them. */
function presentTo(record: ToolRecord, context: Pick<Context, 'principal' | 'reach'>): Tool {
  const whole = present(record, context)
  if (evaluate(context.principal, 'tools:UpdateTool', toolResource(record)).allowed) return whole
  const { execute, mcp } = whole
  return {
    ...whole,
    execute: execute && { ...execute, url: maskedUrl(execute.url), ...maskedValues(execute) },
    mcp: mcp && {
      ...mcp,
      ...(mcp.url !== undefined && { url: maskedUrl(mcp.url) }),
      ...(mcp.args && { args: mcp.args.map(() => masked) }),
      ...maskedValues(mcp),
    },
    preset_parameters: null,
  }
}

type Values = Record<string, string> | undefined

const maskedValues = ({ headers, env }: { headers?: Values; env?: Values }) => ({
  ...(headers && { headers: mask(headers) }),
  ...(env && { env: mask(env) }),
})

const mask = (values: Record<string, string>) => Object.fromEntries(Object.keys(values).map((name) => [name, masked]))

async function viewActions(catalogue: Catalogue, record: ToolRecord): Promise<z.infer<typeof ActionView>[]> {
  const { type, offers } = (await catalogue.find(record.id)) ?? (await catalogue.describe(record))
  const named = agentNames([...offers.values()].map(({ action }) => ({ action, many: type.many })))
  return [...named].map(([toolName, action]) => ({
    id: action.id,
    name: action.name,
    tool_name: toolName,
    server_tool_name: generatedName(action),
    description: action.description,
    app: action.app,
    level: action.level,
    auto_approve: action.autoApprove,
    withheld: offers.get(action.name)?.withheld === true,
    input_schema: offers.get(action.name)?.shown ?? {},
  }))
}

/** Refuses a tool that could not work, with everything that is wrong with it. */
async function checked(given: ToolDraft, { reach, schemas }: Pick<Context, 'reach' | 'schemas'>): Promise<ToolDraft> {
  const type = findToolType(given.type) as ToolType
  const alias = given.type === type.type ? (given.type_alias ?? null) : given.type
  const draft: ToolDraft = { ...given, type: type.type, type_alias: alias }
  const errors: Fault[] = [
    ...checkFields(draft, type),
    ...(await checkParameters(draft, schemas)),
    ...type.check(draft, reach),
  ]
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  return draft
}

/** What the whole platform does not start without is not for one project to say. */
function requireUnbound(
  draft: ToolDraft,
  before: ToolDraft | undefined,
  { principal }: Pick<Context, 'principal'>,
): void {
  if (!draft.mcp?.required || before?.mcp?.required || principal.projectId === null) return
  const message = 'is for keys that are not bound to a project: the whole platform would not start without the server'
  throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'mcp.required', message }] })
}

/** Who may register tools need not be one who may run any program on the machine. */
function requireRunning(
  draft: ToolDraft,
  before: ToolDraft | undefined,
  resource: Resource,
  { principal }: Pick<Context, 'principal'>,
): void {
  if (draft.mcp?.command === undefined || isDeepStrictEqual(draft.mcp, before?.mcp)) return
  requireAllowed(principal, 'tools:RunProgram', resource)
}

/**
 * A platform tool runs with its caller's rights, on arguments that its presets choose. So you need the permission of each
 * of its actions, on the whole project; otherwise you could have someone with more rights do what you may not.
 */
function requireActions(
  draft: ToolDraft,
  projectId: string,
  { principal, reach }: Pick<Context, 'principal' | 'reach'>,
): void {
  for (const name of draft.actions ?? []) {
    const permission = reach.platformActions.get(name)?.permission
    if (permission === undefined || mayAlways(principal, permission, projectId)) continue
    const resource = resourceName({ projectId, kind: '*', id: '*' })
    const reason = `To put the action "${name}" into a tool you need ${permission} on ${resource}, without exceptions. Ask someone who has that permission to register or change the tool.`
    throw new PlatformError('FORBIDDEN', { permission, layer: 'access policy', resource, reason })
  }
}

const configFields = [...new Set(toolTypes.flatMap(({ config }) => Object.keys(config.shape)))] as (keyof ToolDraft)[]

function checkFields(draft: ToolDraft, type: ToolType): Fault[] {
  return configFields.flatMap((field) => {
    const used = field in type.config.shape
    if (used && draft[field] === null) {
      const hint = field === 'parameters' ? '; for a tool without input, send {"type":"object","properties":{}}' : ''
      return [{ path: field, message: `is missing: ${type.type} tools need it${hint}` }]
    }
    if (!used && draft[field] !== null)
      return [{ path: field, message: `is not used by ${type.type} tools: leave it out` }]
    return []
  })
}

async function checkParameters(
  { parameters, preset_parameters }: ToolDraft,
  schemas: Context['schemas'],
): Promise<readonly Fault[]> {
  if (!parameters) return []
  if (parameters.type !== undefined && parameters.type !== 'object') {
    return [{ path: 'parameters.type', message: 'must be "object": the input of a tool is an object' }]
  }
  const faults = await schemas.faultsOf(parameters)
  if (faults.length > 0) {
    return faults.map(({ path, message }) => ({ path: path === '' ? 'parameters' : `parameters.${path}`, message }))
  }
  return preset_parameters ? checkPresets(parameters, preset_parameters, schemas) : []
}

/** A preset that breaks the schema would make every call fail, with nothing its caller could do. */
async function checkPresets(
  parameters: JsonObject,
  presets: JsonObject,
  schemas: Context['schemas'],
): Promise<readonly Fault[]> {
  const { properties = {}, $defs, definitions } = parameters as Record<string, JsonObject>
  const fixed = Object.fromEntries(Object.entries(properties).filter(([key]) => Object.hasOwn(presets, key)))
  const schema: JsonObject = { properties: fixed, ...($defs && { $defs }), ...(definitions && { definitions }) }
  const faults = await schemas.compile(schema)(presets)
  return faults.map(({ path, message }) => ({ path: `preset_parameters.${path}`, message }))
}
