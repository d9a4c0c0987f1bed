import type { z } from 'zod'
import type { Authenticator } from '../access/authenticator.ts'
import { evaluate, narrowed, type Resource, resourceName, visibility } from '../access/evaluate.ts'
import type { Models } from '../agents/models/model.ts'
import type { Runner } from '../agents/runner.ts'
import type { RoutineRuns } from '../agents/sessions/routine-runs.ts'
import type { SessionRunner } from '../agents/sessions/session-runner.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { ServerCatalogues } from '../catalogue/server-catalogue.ts'
import type { ConnectionParts } from '../credentials/connections/connections.ts'
import type { OauthServerKeys } from '../credentials/oauth-server-keys.ts'
import type { SingleSignOn } from '../credentials/single-sign-on.ts'
import type { Vault } from '../credentials/vault.ts'
import type { VisibilityFacts, Visible } from '../db/page.ts'
import type { CallRequest } from '../dispatch/call.ts'
import type { Schemas } from '../json-schema/schema.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { type GenerationRef, type Live, type OnWait, type Surface, type Transport, transportOf } from '../model/call.ts'
import { DatabaseUnavailable } from '../model/database-unavailable.ts'
import { PlatformError } from '../model/errors.ts'
import { faultsOf } from '../model/faults.ts'
import { isGeneratedId } from '../model/ids.ts'
import type { Outcome, Waiting } from '../model/outcome.ts'
import { Id, keepable } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import type { Server } from '../model/server.ts'
import type { Resolver } from '../search/resolver.ts'
import type { Store } from '../store/store.ts'
import type { ToolDeps } from '../tools/tool-type.ts'
import type { ToolTypes } from '../tools/tool-types.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { WorkflowRunner } from '../workflows/runner.ts'
import { findExcess } from './bounded-input.ts'
import { References } from './references.ts'

export interface RequestContext {
  readonly principal: Principal
  readonly surface: Surface
  readonly client: { readonly name: string | null; readonly version: string | null }
  readonly parentCallId: string | null
  readonly depth: number
  /** The raw body, for operations that accept bytes. */
  readonly body?: AsyncIterable<Uint8Array>
  /** The content type of that body. */
  readonly bodyType?: string
  readonly range?: string
  /** How the caller can be reached while a call runs. */
  readonly live?: Live
  /** The run of the agent that makes the request. */
  readonly generation?: GenerationRef | undefined
  readonly context?: Readonly<Record<string, string>> | undefined
  readonly onWait?: OnWait
  readonly server?: CallRequest['server']
  /** Aborts when the caller disconnects. Created on first use. */
  readonly gone?: CallRequest['gone']
  /** The platform's base URL, as the caller knows it. */
  readonly home?: string | undefined
}

export interface OperationDeps {
  readonly store: Store
  readonly authenticator: Authenticator
  readonly catalogue: Catalogue
  readonly serverCatalogues: ServerCatalogues
  readonly resolver: Resolver
  readonly schemas: Schemas
  readonly toolDeps: ToolDeps
  readonly toolTypes: ToolTypes
  /** The environment variables that secrets can be read from, and whether there is a folder of files. */
  readonly secretSources: { readonly variables: readonly string[]; readonly hasFiles: boolean }
  readonly vault: Vault
  readonly singleSignOn: SingleSignOn
  readonly connections: ConnectionParts
  readonly signingKeys: Pick<OauthServerKeys, 'signing' | 'rotate'>
  readonly models: Models
  readonly webhooks: Webhooks
  /** The version of the platform. */
  readonly version: string
  readonly limits: { readonly fileBytes: number }
  /** By name. */
  readonly operations: ReadonlyMap<string, Operation>
  /** All permissions, so that a policy cannot name one that does not exist. */
  readonly permissions: ReadonlySet<string>
  readonly runner: Runner
  readonly sessionRunner: SessionRunner
  readonly routineRuns: RoutineRuns
  /** Aborts when the platform stops, for requests that wait. */
  readonly closing: AbortSignal
  readonly workflows: WorkflowRunner
  dispatch(request: CallRequest): Promise<Outcome>
  /** The platform's base URL: configured, or the address it listens on. Undefined if it does not listen. */
  publicUrl(): string | undefined
  /**
   * The page on which a person decides on an approval: below the configured public URL, or the address the caller used.
   */
  linkToApproval(id: string, home: string | undefined): string | undefined
  /** The tools of a server, as this caller sees and calls them. */
  serverTools(server: Server, request: RequestContext): ServerTools
  /** The tools that a server lists, in each mode. */
  toolLists(
    server: Server,
    request: RequestContext,
  ): Promise<{ readonly direct: readonly JsonObject[]; readonly agent: readonly JsonObject[] }>
}

export interface ServerTools {
  /** Each tool as MCP's `tools/list` describes it. */
  list(): Promise<readonly JsonObject[]>
  /** Throws a `PlatformError` if the call is refused or fails. */
  call(name: string, input: JsonObject, live: Live): Promise<JsonObject & { content: Json[]; isError?: boolean }>
  /** Skills and the resources of MCP servers, as `resources/list` and `resources/templates/list` describe them. */
  resources(): Promise<{ readonly resources: readonly JsonObject[]; readonly templates: readonly JsonObject[] }>
  /** The result of `resources/read`. Throws a `PlatformError` if there is no such resource or it cannot be read. */
  read(uri: string, live: Live): Promise<JsonObject>
}

export type Context = OperationDeps & RequestContext

/** A kind of record: how to find one, and its name in access policies. */
export interface RecordKind<Noun extends VisibilityFacts> {
  readonly name: string
  find(id: string, store: Store): Promise<Noun | undefined>
  /** Takes a record, or only the columns that a list reads. */
  resource(noun: VisibilityFacts): Resource
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Download {
  readonly bytes: AsyncIterable<Uint8Array>
  readonly contentType: string
  /** Unknown, like the ETag, if the content is generated while it is sent. */
  readonly size?: number
  readonly etag?: string
  /** The suggested file name. */
  readonly name?: string
  readonly part?: { readonly start: number; readonly end: number }
}

/** A stream of events. It lasts until the client disconnects or the platform ends it. */
export interface EventStream {
  subscribe(send: (event: StreamEvent) => void, end: () => void): Promise<() => void>
}

export interface StreamEvent {
  /** Omitted in formats whose events have no names. */
  readonly name?: string
  readonly id?: string
  /** Sent as JSON. `raw` is sent unchanged. */
  readonly data?: unknown
  readonly raw?: string
}

export const isEventStream = (value: unknown): value is EventStream => isObject(value) && 'subscribe' in value

/**
 * Everything the platform can do for a caller. REST routes, the OpenAPI document, CLI commands, SDK methods and
 * platform tools are generated from these values.
 */
export interface Operation {
  /** `create-tool`: the name of the CLI command and of the platform action. */
  readonly name: string
  /** `tools:CreateTool`. */
  readonly permission: string
  /**
   * `POST /tools/{tool_id}/call`. The first parameter fills `id` of the input, any other the field of the same name.
   */
  readonly route: string
  readonly summary: string
  /** A request body that works as is. */
  readonly example?: JsonObject
  readonly input: z.ZodObject
  readonly output: z.ZodType
  /** 201 if something was created, 202 if it is processed later, 204 if the response is empty. */
  readonly status: 200 | 201 | 202 | 204
  /** The request or response body, if it is not JSON. */
  readonly accepts?: 'bytes'
  /** Whether the body can also be text that arrives in pieces. The other fields are in the query then. */
  readonly acceptsText?: true
  readonly answers?: 'bytes' | 'events'
  /** Idempotent within a call although it is not a GET: repeating it has no further effect. */
  readonly repeatable?: boolean
  /** Response fields that are shown once. Models never see them. */
  readonly secretFields?: readonly string[]
  /** The schema of a 202 response, sent if the result is not ready yet. */
  readonly later?: z.ZodType
  /** For people only: never offered to a model, and refused inside a call. */
  readonly byPeople?: true
  /** Other spellings of input fields. */
  readonly aliases: Readonly<Record<string, string>>
  perform(input: unknown, context: Context): Promise<unknown>
}

interface Common<Input extends z.ZodObject, Output extends z.ZodType> {
  readonly name: string
  readonly permission: string
  readonly route: `${Method} /${string}`
  readonly summary: string
  readonly example?: JsonObject
  readonly input: Input
  readonly output: Output
  readonly status?: 200 | 201 | 202 | 204
  readonly accepts?: 'bytes'
  readonly acceptsText?: true
  readonly answers?: 'bytes' | 'events'
  readonly repeatable?: boolean
  readonly secretFields?: readonly string[]
  readonly later?: z.ZodType
  readonly byPeople?: true
}

type In<Input extends z.ZodObject> = z.infer<Input>
type Answer<Output extends z.ZodType> = z.input<Output> | Download | EventStream | JsonText | Waiting

/** Serialized JSON, sent without parsing it again. A given status replaces that of the operation. */
export class JsonText {
  readonly text: string
  readonly status: 200 | 202 | 204 | undefined
  /** About the result, such as how to get the next page. Not part of it. */
  readonly note: string | undefined
  constructor(text: string, status?: 200 | 202 | 204, note?: string) {
    this.text = text
    this.status = status
    this.note = note
  }
}

/** Whether a text can be a record's name. Every database must be able to store it. */
const isName = (text: string): boolean => text !== '' && text.length <= 200 && text === keepable(text)

const define = <Input extends z.ZodObject, Output extends z.ZodType>(
  common: Common<Input, Output>,
  run: (input: In<Input>, context: Context) => Promise<unknown>,
): Operation => {
  const { status = 200, ...rest } = common
  const references = References.of(common.route, common.permission)
  /** Replaces a name with its id, then runs the operation. */
  const runReferenced = async (input: unknown, context: Context): Promise<unknown> => {
    const reference = isObject(input) && typeof input.id === 'string' ? input.id : undefined
    if (!references || reference === undefined || isGeneratedId(reference) || !isName(reference)) {
      return run(parseInput(common.input, input), context)
    }
    const id = await references.idOf(reference, context)
    // Names allow characters that ids do not.
    if (id === reference && !Id.safeParse(id).success) {
      throw await references.hinted(references.notFound(reference), reference, context)
    }
    try {
      return await run(parseInput(common.input, { ...(input as object), id }), context)
    } catch (error) {
      throw await references.hinted(error, reference, context)
    }
  }
  return {
    ...rest,
    status,
    aliases: aliasesOf(common.route),
    perform: async (input, context) => {
      if (common.byPeople) requirePerson(context)
      try {
        return await runReferenced(input, context)
      } catch (error) {
        // Only a GET is safe to retry: anything else may have written before the statement that failed.
        if (error instanceof DatabaseUnavailable) throw error.toError(common.route.startsWith('GET '))
        throw error
      }
    },
  }
}

/** Transports that people use. Requests of a model arrive over another one, from inside a call, or from an agent. */
const transportsOfPeople: ReadonlySet<Transport> = new Set<Transport>(['rest', 'web'])

function requirePerson({ parentCallId, generation, surface }: Context): void {
  const isDirect = parentCallId === null && generation === undefined
  if (!isDirect || !transportsOfPeople.has(transportOf(surface))) throw new PlatformError('PERSON_REQUIRED', {})
}

/** Creates a record in a project. */
export const creates = <Input extends z.ZodObject, Output extends z.ZodType>(
  common: Common<Input, Output> & {
    readonly kind: string
    readonly resource?: (input: In<Input>) => Pick<Resource, 'path' | 'tags'>
    run(input: In<Input>, context: Context & { readonly projectId: string }): Promise<Answer<Output>>
  },
): Operation => {
  const { kind, resource, run, ...rest } = common
  return define({ status: 201, ...rest } as Common<Input, Output>, async (input, context) => {
    const projectId = await projectOf(input as { project_id?: string }, context)
    requireAllowed(context.principal, common.permission, { projectId, kind, id: '*', ...resource?.(input) })
    return run(input, { ...context, projectId })
  })
}

/** Lists the records that the caller can see. Without access the list is empty, not an error. */
export const lists = <Noun extends VisibilityFacts, Input extends z.ZodObject, Output extends z.ZodType>(
  common: Common<Input, Output> & {
    readonly of: RecordKind<Noun>
    run(input: In<Input>, context: Context & { readonly visible: Visible }): Promise<Answer<Output>>
  },
): Operation => {
  const { of: kind, run, ...rest } = common
  return define(rest as Common<Input, Output>, async (input, context) => {
    const principal = narrowed(context.principal, common.permission, kind.name)
    const sees = visibility(principal, common.permission, kind.name)
    const asked = (input as { project_id?: string }).project_id
    const elsewhere = principal.projectId !== null && asked !== undefined && asked !== principal.projectId
    const { limit, offset } = input as { limit?: number; offset?: number }
    if ((sees === 'none' || elsewhere) && limit !== undefined) return { data: [], total: 0, limit, offset }
    const visible: Visible =
      sees === 'all' && !elsewhere
        ? undefined
        : (noun) => !elsewhere && evaluate(principal, common.permission, kind.resource(noun)).allowed
    return run(
      { ...input, ...(principal.projectId && { project_id: principal.projectId }) },
      { ...context, principal, visible },
    )
  })
}

/** Acts on one record. Returns 404 if the caller cannot read the record, and 403 if it can read but not change it. */
export const acts = <Noun extends VisibilityFacts, Input extends z.ZodObject, Output extends z.ZodType>(
  common: Common<Input, Output> & {
    readonly on: RecordKind<Noun>
    run(input: In<Input>, context: Context & { readonly target: Noun }): Promise<Answer<Output>>
  },
): Operation => {
  const { on: kind, run, ...rest } = common
  const reads = common.route.startsWith('GET ')
  return define(rest as Common<Input, Output>, async (input, context) => {
    const { id } = input as unknown as { id: string }
    const target = await kind.find(id, context.store)
    if (!target) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: kind.name, id })
    if (reads) {
      const { allowed } = evaluate(context.principal, common.permission, kind.resource(target))
      if (!allowed) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: kind.name, id })
    } else requireAllowed(context.principal, common.permission, kind.resource(target))
    return run(input, { ...context, target })
  })
}

/** For operations that fit none of the shapes above. `run` checks access itself, as dispatch does for a call. */
export const operation = <Input extends z.ZodObject, Output extends z.ZodType>(
  common: Common<Input, Output> & { run(input: In<Input>, context: Context): Promise<Answer<Output>> },
): Operation => {
  const { run, ...rest } = common
  return define(rest as Common<Input, Output>, run)
}

export function requireAllowed(principal: Principal, permission: string, resource: Resource): void {
  const decision = evaluate(principal, permission, resource)
  if (decision.allowed) return
  throw new PlatformError('FORBIDDEN', { permission, layer: decision.layer, resource: resourceName(resource) })
}

/** The project that the request names, or the one its key is bound to, or the only one that exists. */
async function projectOf(input: { project_id?: string | null }, { principal, store }: Context): Promise<string> {
  if (input.project_id) {
    const found = await store.projects.find(input.project_id)
    // A key bound to another project must not learn which projects exist.
    if (!found && principal.projectId === null) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'project', id: input.project_id })
    }
    return input.project_id
  }
  if (principal.projectId) return principal.projectId
  const only = await store.projects.findOnly()
  if (!only) throw new PlatformError('PROJECT_REQUIRED', { projects: await store.projects.count() })
  return only.id
}

export function parseInput<Input extends z.ZodObject>(schema: Input, input: unknown): z.infer<Input> {
  const excess = findExcess(schema, input)
  if (excess) throw new PlatformError('VALIDATION_FAILED', { errors: [excess] })
  const result = schema.safeParse(input)
  if (result.success) return result.data
  throw new PlatformError('VALIDATION_FAILED', { errors: faultsOf(result.error) })
}

/** `{tool_id}` fills `id`. In the input of a platform action, `tool_id` and `toolId` also mean `id`. */
const aliasesOf = (route: string): Record<string, string> =>
  Object.fromEntries(
    parametersOf(route).flatMap(({ name, field }) => {
      const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
      return [name, camel].filter((alias) => alias !== field).map((alias) => [alias, field])
    }),
  )

/** Whether a model can use the operation: its response is JSON and contains nothing that models must not see. */
export const isAction = ({ accepts, answers, secretFields, byPeople }: Operation): boolean =>
  !accepts && !answers && !secretFields && !byPeople

/** The parameters of a route and the input field that each fills: `id` for the first, the same name for any other. */
export const parametersOf = (route: string): { readonly name: string; readonly field: string }[] =>
  [...route.matchAll(/\{(\w+)\}/g)].map(([, name = ''], index) => ({ name, field: index === 0 ? 'id' : name }))

export const routeOf = ({ route }: Pick<Operation, 'route'>): { method: Method; path: string } => {
  const [method, path] = route.split(' ') as [Method, string]
  return { method, path }
}
