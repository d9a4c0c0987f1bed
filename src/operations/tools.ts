import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { evaluate, type Resource } from '../access/evaluate.ts'
import { appOf, commonApp } from '../catalogue/app.ts'
import { autoApprovesAll, type Catalogue } from '../catalogue/catalogue.ts'
import { dependentsOf } from '../catalogue/dependents.ts'
import { differenceOf } from '../catalogue/difference.ts'
import { agentNames, generatedName } from '../catalogue/names.ts'
import { referencedSecrets } from '../credentials/secret-references.ts'
import { toolResource } from '../dispatch/authorize.ts'
import type { CallRequest } from '../dispatch/call.ts'
import { recordAttempt } from '../dispatch/rejected-call.ts'
import { AnyJson, isObject, type JsonObject } from '../lib/json.ts'
import { inSlices } from '../lib/slices.ts'
import { PendingApproval } from '../model/approval.ts'
import { EndUserId } from '../model/connection.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { type Outcome, type Wait, Waiting } from '../model/outcome.ts'
import { Id, iso, Paging, pageOf, Text } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import { jsonObject, Level, type Output, Tool, type ToolDraft, ToolFields } from '../model/tool.ts'
import { targetOf } from '../store/connections.ts'
import type { StoredTool, ToolRecord } from '../store/tools.ts'
import type { CheckDeps, ToolType } from '../tools/tool-type.ts'
import { maskedConfig, type ToolTypes } from '../tools/tool-types.ts'
import type { ActionLookup } from '../tools/workflow/actions.ts'
import { actingAs, isBackend } from './act-as.ts'
import { readProjectFile } from './files.ts'
import {
  acts,
  type Context,
  creates,
  JsonText,
  lists,
  type Operation,
  type OperationDeps,
  operation,
  type RecordKind,
  type RequestContext,
  requireAllowed,
} from './operation.ts'
import { presentConfig, readConfig, sentFields, shownFields } from './tool-config.ts'
import { checkDestination, checkSecrets, sealed, type ToolBefore, unmask, withMasks } from './tool-secrets.ts'

export const tool: RecordKind<StoredTool> = {
  name: 'tool',
  find: (id, store) => store.tools.find(id),
  resource: toolResource,
}

const { name, description, ...optionalFields } = ToolFields

const defaultType = 'http'

const empty: Omit<ToolDraft, 'name' | 'type' | 'config' | 'many_actions'> = {
  description: null,
  preset_parameters: null,
  app: null,
  pin_definitions: false,
  level: 'open',
  auto_approve: null,
  timeout_seconds: null,
  ask_destructive: false,
  approval_timeout_seconds: null,
  action_settings: null,
}

/** The operations whose input and output contain the fields of all tool types. */
export function toolOperations(types: ToolTypes) {
  const Type = z.enum(types.names as [string, ...string[]])
  const fields = {
    description: description.optional(),
    ...sentFields(types),
    ...z.object(optionalFields).partial().shape,
  }
  const { id, project_id, name: shownName, type, description: shownDescription, ...rest } = Tool.shape
  const Shown = z.object({
    ...{ id, project_id, name: shownName, type, description: shownDescription },
    ...shownFields(types),
    ...rest,
  })

  const createTool = creates({
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
    input: z.strictObject({ project_id: Id.optional(), name, type: Type.default(defaultType), ...fields }),
    output: Shown,
    async run({ project_id: _, ...input }, context) {
      const { projectId } = context
      const { draft } = await checked(input, undefined, projectId, context)
      authorize(draft, undefined, { projectId, kind: 'tool', id: '*' }, context)
      await authorizeSecrets(draft, undefined, projectId, context)
      const id = newId('tool')
      const ready = await prepared(draft, undefined, projectId, context)
      return present(await context.store.tools.create(projectId, id, await sealed(ready, id, context)), context)
    },
  })

  const listTools = lists({
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
    output: pageOf(Shown),
    async run(input, context) {
      const { store, visible } = context
      const type = input.type && types.find(input.type)?.type
      const page = await store.tools.list({ ...input, ...(type && { type }) }, visible)
      return { ...page, data: page.data.map((record) => presentTo(record, context)) }
    },
  })

  const getTool = acts({
    name: 'get-tool',
    permission: 'tools:GetTool',
    route: 'GET /tools/{tool_id}',
    summary: 'Get a tool',
    on: tool,
    input: z.strictObject({ id: Id }),
    output: Shown,
    run: async (_, context) => presentTo(context.target, context),
  })

  const updateTool = acts({
    name: 'update-tool',
    permission: 'tools:UpdateTool',
    route: 'PATCH /tools/{tool_id}',
    summary: 'Change a tool; the result is validated like a new tool',
    example: { timeout_seconds: 10 },
    on: tool,
    input: z.strictObject({ id: Id, name: name.optional(), type: Type.optional(), ...fields }),
    output: Shown,
    async run({ id, ...change }, context) {
      const { target } = context
      const before = { stored: target, ...context.toolDeps.credentials.open(target) }
      const { draft: next, kept } = await checked(change, before, target.project_id, context)
      authorize(next, before.tool, toolResource(target), context)
      await authorizeSecrets(next, before.tool, target.project_id, context)
      const ready = await prepared(next, before.tool, target.project_id, context)
      // The type may have found out only now where requests go.
      const moved = checkDestination(ready, context.toolTypes.of(ready), before, kept)
      if (moved.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors: moved })
      if (target.secrets !== null && isDeepStrictEqual({ ...before.tool, ...ready }, before.tool)) {
        return present(target, context)
      }
      return present((await context.store.tools.update(id, await sealed(ready, id, context))) ?? target, context)
    },
  })

  return { createTool, listTools, getTool, updateTool }
}

export const deleteTool = acts({
  name: 'delete-tool',
  permission: 'tools:DeleteTool',
  route: 'DELETE /tools/{tool_id}',
  summary: 'Delete a tool; its call records are kept',
  status: 204,
  on: tool,
  input: z.strictObject({
    id: Id,
    force: z.boolean().optional().describe('Delete it even if agents or servers use it; they continue without it'),
  }),
  output: z.null(),
  async run({ id, force }, { store, catalogue, connections, target }) {
    const dependents = force ? [] : await dependentsOf(target, { store, catalogue })
    if (dependents.length > 0) {
      throw new PlatformError('HAS_DEPENDENTS', { kind: 'tool', id: target.name, dependents, force: 'force=true' })
    }
    await store.tools.remove(id)
    await store.definitions.forget(id)
    await connections.keeper.removeAll(target.project_id, targetOf({ tool_id: id }))
    return null
  },
})

export const ActionView = z.object({
  id: z.string().describe('namespace:name'),
  name: z.string().describe('The action’s name within its tool'),
  tool_name: z.string().describe('The name an agent sees'),
  server_tool_name: z
    .string()
    .describe('The name an MCP client sees on a server in direct mode, unless another action there already has it'),
  description: z.string().nullable(),
  app: z.string(),
  level: Level,
  auto_approve: z.boolean(),
  withheld: z.boolean().describe('True if its definition changed and was not accepted yet'),
  input_schema: z
    .custom<JsonObject>()
    .meta({ type: 'object' })
    .describe('The input schema for callers, without preset fields'),
  output_schema: z
    .custom<JsonObject>()
    .meta({ type: 'object' })
    .nullable()
    .describe('What is known about the output. It is never enforced'),
})

export const listToolActions = acts({
  name: 'list-tool-actions',
  permission: 'tools:ListToolActions',
  route: 'GET /tools/{tool_id}/actions',
  summary: 'List the actions of a tool as a model sees them',
  on: tool,
  input: z.strictObject({ id: Id, ...Paging }),
  output: pageOf(ActionView),
  async run({ limit, offset }, context) {
    const { catalogue, target } = context
    const views = await viewActions(catalogue, target).catch((error) => orLink(error, context))
    return { data: views.slice(offset, offset + limit), total: views.length, limit, offset }
  },
})

export const refreshTool = acts({
  name: 'refresh-tool',
  permission: 'tools:RefreshTool',
  route: 'POST /tools/{tool_id}/refresh',
  summary: 'Refresh the actions of a tool: list the tools of its MCP server, or import its OpenAPI document again',
  example: {},
  on: tool,
  input: z.strictObject({ id: Id }),
  output: z.object({
    actions: z.int().describe('Number of actions'),
    withheld: z.array(z.string()).describe('Actions whose definition changed and was not accepted yet'),
    added: z.array(z.string()).describe('Actions that were not there before'),
    changed: z.array(z.string()).describe('Actions whose description, input or annotations changed'),
    removed: z.array(z.string()).describe('Actions that are no longer there'),
  }),
  async run({ id }, context) {
    const { catalogue, target } = context
    const before = await catalogue.find(id).catch(() => undefined)
    const now = await refreshed(target, context)
    // Throws if the server is unreachable, instead of returning its previous tools.
    const after = await catalogue.describe(now).catch((error) => orLink(error, context))
    const withheld = [...after.actions.values()].flatMap((one) => (one.withheld ? [one.action.name] : []))
    return { actions: after.actions.size, withheld, ...(await differenceOf(before, after)) }
  },
})

export const Health = z.object({
  state: z.enum(['unknown', 'up', 'down']).describe('unknown if the tool has no server, or it was not used yet'),
  failures: z.int().describe('Consecutive failures'),
  error: z.string().nullable(),
  tools: z.int().nullable().describe('Number of actions when it was last listed'),
  era: z.string().nullable().describe('MCP protocol version it uses'),
})

export const getToolHealth = acts({
  name: 'get-tool-health',
  permission: 'tools:GetToolHealth',
  route: 'GET /tools/{tool_id}/health',
  summary: 'Get the health of the MCP server behind a tool, as of its last use',
  on: tool,
  input: z.strictObject({ id: Id }),
  output: Health,
  async run(_, { catalogue, target, toolDeps: deps }) {
    const type = catalogue.typeOf(target)
    if (type.health) {
      const { tool, filled } = await catalogue.requireFilled(target)
      return type.health(tool, deps, filled)
    }
    return { state: 'unknown' as const, failures: 0, error: null, tools: null, era: null }
  },
})

const calling = operation({
  name: 'call-tool',
  permission: 'tools:CallTool',
  route: 'POST /tools/{tool_id}/call',
  summary: 'Call a tool and get its output',
  example: { input: { city: 'Recife' } },
  input: z.strictObject({
    id: Id,
    action: Text.max(200).nullish().describe('The action, for tools that have several'),
    input: jsonObject('The arguments').nullish(),
    end_user_id: EndUserId.nullish().describe('The end user whose connections the call uses; needs connections:ActAs'),
    wait: z
      .boolean()
      .optional()
      .describe(
        'By default, the call waits for approval. If false, it does not: send it again later. If true, it also waits until a missing account is connected',
      ),
  }),
  output: AnyJson.describe('The output of the tool'),
  later: PendingApproval,
  async run({ id, action, input, end_user_id, wait }, context) {
    const returns = wait === false && context.onWait !== 'resume'
    const principal = end_user_id ? await principalFor(end_user_id, id, context) : context.principal
    const caller = { ...context, principal, ...(returns && { onWait: 'return' as const }) }
    const make = () => call(id, action, input, caller)
    const result = await (wait === true ? whenConnected(make, id, caller) : make())
    if (!(result instanceof Waiting)) return new JsonText(result.text, undefined, result.note)
    return returns ? pending(result.on) : result
  },
})

/** How long a call waits for its user to connect an account: as long as a link to do so works. */
const longestConnectMs = 15 * 60_000

/** Makes the call, and makes it again once its user has connected the account that it needs. */
async function whenConnected<Result>(make: () => Promise<Result>, toolId: string, context: Context): Promise<Result> {
  const { principal, store, connections, gone, live } = context
  const projectId = (await store.tools.find(toolId))?.project_id ?? ''
  return connections.waits.retry(make, {
    ...{ projectId, endUserId: principal.endUserId },
    until: Date.now() + longestConnectMs,
    gone: [gone?.(), live?.signal],
  })
}

async function principalFor(endUserId: string, toolId: string, context: Context): Promise<Principal> {
  const found = context.catalogue.peek(toolId)?.tool ?? (await context.store.tools.find(toolId))
  return actingAs(context, endUserId, found?.project_id ?? context.principal.projectId)
}

/** An invalid request never reaches dispatch, but it is recorded. */
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
  const { principal, store, catalogue, toolDeps } = context
  const { data: toolId } = Id.safeParse(id)
  const found = toolId === undefined ? undefined : await store.tools.find(toolId)
  // The record must not reveal that a tool exists to callers who cannot call it.
  const may = found && evaluate(principal, 'tools:CallTool', toolResource(found)).allowed
  const target = may ? { tool: toolDeps.credentials.open(found).tool, type: catalogue.typeOf(found) } : 'UNKNOWN_TOOL'
  await recordAttempt(
    store.calls,
    { ...context, id: newId('call'), projectId: principal.projectId, target, input: input ?? null },
    error,
  )
}

/** The response for a caller that does not wait for the decision. */
function pending(wait: Wait): JsonText {
  const { id, expiresAt } = wait as Extract<Wait, { kind: 'approval' }>
  const answer: z.infer<typeof PendingApproval> = {
    status: 'pending_approval',
    approval_id: id,
    expires_at: iso(expiresAt),
  }
  return new JsonText(JSON.stringify(answer), 202)
}

export async function call(
  toolId: string,
  action: string | null | undefined,
  input: JsonObject | null | undefined,
  context: RequestContext & Pick<OperationDeps, 'dispatch'> & Pick<CallRequest, 'run'>,
  id = newId('call'),
): Promise<Output | Waiting> {
  const { principal, surface, client, parentCallId, depth, live, generation, onWait, server, gone, home, run } = context
  const outcome = await context.dispatch({
    id,
    principal,
    surface,
    client,
    toolId,
    action: action ?? undefined,
    input: input ?? {},
    parentCallId,
    depth,
    live,
    generation,
    onWait,
    server,
    gone,
    home,
    run,
  })
  return outputOf(outcome, principal)
}

/** The output of a call, or what it waits for. Throws if it was refused. */
export function outputOf(outcome: Outcome, principal: Principal): Output | Waiting {
  if (outcome.kind === 'refused') throw withoutRawAnswer(outcome.error, principal)
  return outcome.kind === 'done' ? outcome.output : outcome
}

/** The response body of another system can contain anything. Only callers who can read call records see it. */
function withoutRawAnswer(error: unknown, principal: Principal): unknown {
  if (!(error instanceof PlatformError) || error.code !== 'TOOL_HTTP_ERROR') return error
  const reader = { projectId: principal.projectId, kind: 'call', id: '*' }
  if (evaluate(principal, 'calls:GetCall', reader).allowed) return error
  const { tool_response_body: _, ...details } = (error as PlatformError<'TOOL_HTTP_ERROR'>).details
  return new PlatformError('TOOL_HTTP_ERROR', details, { cause: error })
}

/** A tool as the API shows it, with defaults filled in. Its credentials are masked for everyone. */
function present(record: StoredTool, { toolTypes, toolDeps }: Pick<Context, 'toolTypes' | 'toolDeps'>): Tool {
  const type = toolTypes.of(record)
  const { type_alias, config, secrets: _, many_actions: __, ...rest } = withMasks(record, type)
  return {
    ...rest,
    ...presentConfig(toolTypes, config),
    type: type_alias ?? record.type,
    app: appOf(record),
    auto_approve: autoApprovesAll(record, type, toolDeps),
    action_settings: rest.action_settings ?? null,
  }
}

/** For callers who cannot change the tool, also hides presets and everything else that may be confidential. */
function presentTo(record: StoredTool, context: Pick<Context, 'principal' | 'toolTypes' | 'toolDeps'>): Tool {
  if (evaluate(context.principal, 'tools:UpdateTool', toolResource(record)).allowed) return present(record, context)
  const config = maskedConfig(context.toolTypes.of(record), record.config)
  return { ...present({ ...record, config }, context), preset_parameters: null }
}

/** A server that needs a connection: the error gets a link for the caller. */
async function orLink(error: unknown, context: Context & { readonly target: StoredTool }): Promise<never> {
  const { principal, target, toolDeps } = context
  const reader = { toolId: target.id, principal, isBackend: isBackend(context) }
  throw await toolDeps.credentials.withLink(error, reader)
}

async function viewActions(catalogue: Catalogue, record: StoredTool): Promise<z.infer<typeof ActionView>[]> {
  const { type, actions } = (await catalogue.find(record.id)) ?? (await catalogue.describe(record))
  const named = agentNames([...actions.values()].map(({ action }) => ({ action, many: type.many })))
  const views: z.infer<typeof ActionView>[] = []
  for await (const some of inSlices(named)) {
    for (const [toolName, action] of some) {
      views.push({
        id: action.id,
        name: action.name,
        tool_name: toolName,
        server_tool_name: generatedName(action, type.kind),
        description: action.description,
        app: action.app,
        level: action.level,
        auto_approve: action.autoApprove,
        withheld: actions.get(action.name)?.withheld === true,
        input_schema: actions.get(action.name)?.publicSchema ?? {},
        output_schema: action.outputSchema ?? null,
      })
    }
  }
  return views
}

type SentFields = Partial<Omit<ToolDraft, 'config'>> & Readonly<Record<string, unknown>>

/** Validates a tool and reports everything that is wrong with it. `kept` are the paths of secrets that were not sent. */
async function checked(
  sent: SentFields,
  before: ToolBefore | undefined,
  projectId: string,
  { toolTypes, toolDeps }: Pick<Context, 'toolTypes' | 'toolDeps'>,
): Promise<{ readonly draft: ToolDraft; readonly kept: readonly string[] }> {
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined))
  const wanted = sent.type ?? before?.tool.type ?? ''
  const type = toolTypes.find(wanted)
  if (!type) throw new PlatformError('TOOL_TYPE_UNAVAILABLE', { type: wanted })
  const unmasked = unmask(given, type, before, toolTypes)
  const { config, faults } = readConfig(toolTypes, type, unmasked.fields)
  const alias = wanted === type.type ? (sent.type ? null : (before?.tool.type_alias ?? null)) : wanted
  const fields = { ...empty, ...before?.tool, ...given, ...presetsIn(unmasked.fields) }
  const draft = { ...draftOf(fields, type, config), type_alias: alias }
  const errors = [
    ...faults,
    ...unmasked.faults,
    ...checkName(draft, type),
    ...(config && unmasked.faults.length === 0 ? checkSecrets(draft, type, before, unmasked.kept) : []),
    ...(config ? ((await type.check?.(draft, toolDeps, { projectId })) ?? []) : []),
  ]
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  return { draft, kept: unmasked.kept }
}

const draftOf = (
  fields: Readonly<Record<string, unknown>>,
  { type, many }: ToolType,
  config: object = {},
): ToolDraft => ({
  ...pick(fields, generalFields),
  ...{ type, config, many_actions: many },
})

/**
 * What is wrong with a tool, as far as it can be known without a platform. Types that depend on other tools are not checked.
 */
export async function faultsOfTool(
  fields: Readonly<Record<string, unknown>>,
  toolTypes: ToolTypes,
  deps: Omit<CheckDeps, 'actions'>,
): Promise<readonly Fault[]> {
  const type = toolTypes.find(String(fields.type ?? defaultType))
  if (!type || type.composed) return []
  const { config, faults } = readConfig(toolTypes, type, fields)
  const draft = draftOf({ ...empty, ...fields }, type, config)
  const found = config && (await type.check?.(draft, { ...deps, actions: noActions }, { projectId: '' }))
  return [...faults, ...checkName(draft, type), ...(found ?? [])]
}

const noActions: ActionLookup = {
  findOwner: async () => undefined,
  findAction: async () => undefined,
  knownIds: async () => [],
}

const presetsIn = ({ preset_parameters }: Readonly<Record<string, unknown>>) =>
  preset_parameters === undefined ? {} : { preset_parameters }

const generalFields = ['name', ...(Object.keys(empty) as (keyof typeof empty)[])] as const

const pick = <Name extends string>(fields: Readonly<Record<string, unknown>>, names: readonly Name[]) =>
  Object.fromEntries(names.map((one) => [one, fields[one]])) as Pick<ToolDraft, Name & keyof ToolDraft>

/** The name of a tool with several actions is also their namespace. */
const checkName = ({ name }: ToolDraft, { many }: ToolType): Fault[] =>
  many && name === commonApp ? [{ path: 'name', message: `"${commonApp}" is kept for tools with a single action` }] : []

function authorize(draft: ToolDraft, before: ToolRecord | undefined, resource: Resource, context: Context): void {
  const { principal, toolTypes, toolDeps } = context
  toolTypes.of(draft).authorize?.(
    {
      config: draft.config,
      before: before?.type === draft.type ? before.config : undefined,
      projectId: resource.projectId as string,
      principal,
      requireAllowed: (permission) => requireAllowed(principal, permission, resource),
    },
    toolDeps,
  )
}

/** Lets the type discard or renew what it has of the other system, and stores a config that changed by that. */
async function refreshed(stored: StoredTool, context: Context): Promise<StoredTool> {
  const { store, catalogue, toolDeps } = context
  const type = catalogue.typeOf(stored)
  if (!type.refresh) return stored
  const { tool, filled } = await catalogue.requireFilled(stored)
  const config = await type.refresh(tool, toolDeps, filled)
  if (!config) return stored
  return (await store.tools.update(stored.id, await sealed({ ...tool, config }, stored.id, context))) ?? stored
}

/** Lets the type complete the config. Nothing is stored before that. */
async function prepared(
  draft: ToolDraft,
  before: ToolRecord | undefined,
  projectId: string,
  context: Context,
): Promise<ToolDraft> {
  const type = context.toolTypes.of(draft)
  if (!type.prepare) return draft
  const change = {
    before: before?.type === draft.type ? before.config : undefined,
    projectId,
    readFile: (id: string) => readProjectFile(id, projectId, context),
  }
  return { ...draft, config: await type.prepare(draft, change, context.toolDeps) }
}

/**
 * A tool can send a secret anywhere. So a caller who sets or changes a config that references secrets needs permission
 * to use each of them.
 */
async function authorizeSecrets(
  draft: ToolDraft,
  before: ToolRecord | undefined,
  projectId: string,
  { principal, store }: Context,
): Promise<void> {
  const names = [...referencedSecrets(draft.config)]
  if (names.length === 0 || isDeepStrictEqual(draft.config, before?.config)) return
  const found = new Map((await store.secrets.named(projectId, names)).map(({ id, name }) => [name, id]))
  for (const name of names) {
    requireAllowed(principal, 'secrets:UseSecret', { projectId, kind: 'secret', id: found.get(name) ?? '*' })
  }
}
