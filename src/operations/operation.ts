import type { z } from 'zod'
import { evaluate, narrowed, type Resource, resourceName, visibility } from '../access/evaluate.ts'
import type { Models } from '../agents/models/model.ts'
import type { Runner } from '../agents/runner.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Shelves } from '../catalogue/shelf.ts'
import type { Vault } from '../credentials/vault.ts'
import type { Facts, Visible } from '../db/page.ts'
import type { Asked } from '../dispatch/call.ts'
import type { Schemas } from '../json-schema/schema.ts'
import { isObject, type JsonObject } from '../lib/json.ts'
import { type Live, type OnWait, type Surface, type Transport, transportOf, type Within } from '../model/call.ts'
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
import type { Reach } from '../tools/tool-type.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { findExcess } from './bounded-input.ts'
import { References } from './references.ts'

/** Who asks, and by which way. */
export interface Request {
  readonly principal: Principal
  readonly surface: Surface
  readonly client: { readonly name: string | null; readonly version: string | null }
  readonly parentCallId: string | null
  readonly depth: number
  /** Bytes that come beside the input, where the operation takes some. */
  readonly body?: AsyncIterable<Uint8Array>
  readonly range?: string
  /** What the caller can still do while a call runs. */
  readonly live?: Live
  /** The run of an agent that asks. */
  readonly generation?: Within | undefined
  readonly context?: Readonly<Record<string, string>> | undefined
  readonly onWait?: OnWait
  readonly server?: Asked['server']
  /** Aborted once nobody waits for the answer; made only when it is asked for. */
  readonly gone?: Asked['gone']
  /** The platform's address, as the caller knows it. */
  readonly home?: string | undefined
}

/** What operations work with. */
export interface Parts {
  readonly store: Store
  readonly catalogue: Catalogue
  readonly shelves: Shelves
  readonly resolver: Resolver
  readonly schemas: Schemas
  readonly reach: Reach
  readonly vault: Vault
  readonly models: Models
  readonly webhooks: Webhooks
  /** Of the platform. */
  readonly version: string
  readonly limits: { readonly fileBytes: number }
  /** Every permission there is, so that a policy cannot name one that does not exist. */
  readonly permissions: ReadonlySet<string>
  readonly runner: Runner
  dispatch(asked: Asked): Promise<Outcome>
  /** Where a person decides on an approval: at the operator's address, or where the caller reaches us. */
  linkToApproval(id: string, home: string | undefined): string | undefined
  /** What a client of a server would be told of, in either mode. */
  toolLists(
    server: Server,
    request: Request,
  ): Promise<{ readonly direct: readonly JsonObject[]; readonly agent: readonly JsonObject[] }>
}

export type Context = Parts & Request

/** A kind of record: how one is found and what access policies call it. */
export interface Kind<Noun extends Facts> {
  readonly name: string
  find(id: string, store: Store): Promise<Noun | undefined>
  /** Of a noun, or of what a list reads of it. */
  resource(noun: Facts): Resource
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Bytes to send, as they come. */
export interface Download {
  readonly bytes: AsyncIterable<Uint8Array>
  readonly contentType: string
  /** Of what is made as it is sent, neither is known. */
  readonly size?: number
  readonly etag?: string
  /** What to call the file. */
  readonly name?: string
  readonly part?: { readonly start: number; readonly end: number }
}

/** A stream of events that lasts until the reader leaves, or until it is ended from here. */
export interface EventStream {
  subscribe(send: (event: StreamEvent) => void, end: () => void): Promise<() => void>
}

export interface StreamEvent {
  /** Left out where the readers that it is for know no names. */
  readonly name?: string
  readonly id?: string
  /** Sent as JSON; text that is sent as it is comes as `raw`. */
  readonly data?: unknown
  readonly raw?: string
}

export const isEventStream = (value: unknown): value is EventStream => isObject(value) && 'subscribe' in value

/**
 * Everything the platform can do for a caller is one of these values. REST routes, the OpenAPI document, the command
 * line, the SDK and platform tools are read off them.
 */
export interface Operation {
  /** `create-tool`: the command, the platform action. */
  readonly name: string
  /** `tools:CreateTool`. */
  readonly permission: string
  /** `POST /tools/{tool_id}/call`; the first parameter fills the input's `id`, any other the field of its name. */
  readonly route: string
  readonly summary: string
  /** A body that can be sent as it is. */
  readonly example?: JsonObject
  readonly input: z.ZodObject
  readonly output: z.ZodType
  /** The status of the answer: 201 where something was made, 204 where nothing is left to say. */
  readonly status: 200 | 201 | 204
  /** What the caller sends or gets beside JSON. */
  readonly accepts?: 'bytes'
  readonly answers?: 'bytes' | 'events'
  /** Asked again by the same call, it does nothing again, though it is no GET. */
  readonly repeatable?: boolean
  /** Fields of the answer that are shown once: never to a model, never again. */
  readonly secretFields?: readonly string[]
  /** What the answer is, with the status 202, where it is still to come. */
  readonly later?: z.ZodType
  /** Whether only people may do it: it is never offered to a model, and refused from within a call. */
  readonly byPeople?: true
  /** Other spellings of the input's fields. */
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
  readonly status?: 200 | 201 | 204
  readonly accepts?: 'bytes'
  readonly answers?: 'bytes' | 'events'
  readonly repeatable?: boolean
  readonly secretFields?: readonly string[]
  readonly later?: z.ZodType
  readonly byPeople?: true
}

type In<Input extends z.ZodObject> = z.infer<Input>
type Answer<Output extends z.ZodType> = z.input<Output> | Download | EventStream | JsonText | Waiting

/** JSON that is already text, passed on without being read again; with another status than the operation's, if given. */
export class JsonText {
  readonly text: string
  readonly status: 202 | undefined
  constructor(text: string, status?: 202) {
    this.text = text
    this.status = status
  }
}

/** Text that a record can be named by, and that every database takes. */
const isName = (text: string): boolean => text !== '' && text.length <= 200 && text === keepable(text)

const define = <Input extends z.ZodObject, Output extends z.ZodType>(
  common: Common<Input, Output>,
  run: (input: In<Input>, context: Context) => Promise<unknown>,
): Operation => {
  const { status = 200, ...rest } = common
  const references = References.of(common.route, common.permission)
  /** With the id in place of a name. */
  const runReferenced = async (input: unknown, context: Context): Promise<unknown> => {
    const reference = isObject(input) && typeof input.id === 'string' ? input.id : undefined
    if (!references || reference === undefined || isGeneratedId(reference) || !isName(reference)) {
      return run(parseInput(common.input, input), context)
    }
    const id = await references.idOf(reference, context)
    // A name may hold what no id can.
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
        // It may have written something before the statement that failed.
        if (error instanceof DatabaseUnavailable) throw error.toError(common.route.startsWith('GET '))
        throw error
      }
    },
  }
}

/** Transports that people use. A model's requests come over any other one, from within a call, or from an agent. */
const transportsOfPeople: ReadonlySet<Transport> = new Set<Transport>(['rest', 'web'])

function requirePerson({ parentCallId, generation, surface }: Context): void {
  const isDirect = parentCallId === null && generation === undefined
  if (!isDirect || !transportsOfPeople.has(transportOf(surface))) throw new PlatformError('PERSON_REQUIRED', {})
}

/** Makes something in a project. */
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

/** Lists what the caller may see. Whoever may see nothing gets an empty list, not an error. */
export const lists = <Noun extends Facts, Input extends z.ZodObject, Output extends z.ZodType>(
  common: Common<Input, Output> & {
    readonly of: Kind<Noun>
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

/** Acts on one record. Whoever may not read it is told that it is not there; whoever may not change it, that they may not. */
export const acts = <Noun extends Facts, Input extends z.ZodObject, Output extends z.ZodType>(
  common: Common<Input, Output> & {
    readonly on: Kind<Noun>
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

/** For what fits none of the shapes above: its `run` asks for access itself, as the door does for a call. */
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

/** The project that a request names; else the one its key is bound to; else the only one there is. */
async function projectOf(input: { project_id?: string | null }, { principal, store }: Context): Promise<string> {
  if (input.project_id) {
    const found = await store.projects.find(input.project_id)
    // Whoever is bound elsewhere learns nothing about which other projects there are.
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

/** `{tool_id}` fills `id`; as an action's input, `tool_id` and `toolId` are taken for `id` as well. */
const aliasesOf = (route: string): Record<string, string> =>
  Object.fromEntries(
    parametersOf(route).flatMap(({ name, field }) => {
      const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
      return [name, camel].filter((alias) => alias !== field).map((alias) => [alias, field])
    }),
  )

/** Whether a model can be given the operation: its answer is JSON and holds nothing that a model must not see. */
export const isAction = ({ accepts, answers, secretFields, byPeople }: Operation): boolean =>
  !accepts && !answers && !secretFields && !byPeople

/** The parameters of a route, and the field of the input that each fills: `id` for the first, its own for any other. */
export const parametersOf = (route: string): { readonly name: string; readonly field: string }[] =>
  [...route.matchAll(/\{(\w+)\}/g)].map(([, name = ''], index) => ({ name, field: index === 0 ? 'id' : name }))

export const routeOf = ({ route }: Pick<Operation, 'route'>): { method: Method; path: string } => {
  const [method, path] = route.split(' ') as [Method, string]
  return { method, path }
}
