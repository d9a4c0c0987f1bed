import { z } from 'zod'
import type { Destination } from '../credentials/connections/access.ts'
import type { Authorization } from '../credentials/connections/authorization.ts'
import type { Credentials } from '../credentials/credentials.ts'
import type { Redactor } from '../credentials/redactor.ts'
import type { Lineage } from '../http/lineage.ts'
import type { Outbound } from '../http/outbound.ts'
import type { Schemas } from '../json-schema/schema.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Offers } from '../mcp/client/offers.ts'
import type { UpstreamHealth } from '../mcp/client/upstream.ts'
import type { Upstreams } from '../mcp/client/upstreams.ts'
import type { GenerationRef, Live, OnWait, RunOptions } from '../model/call.ts'
import type { Fault } from '../model/errors.ts'
import type { Waiting } from '../model/outcome.ts'
import type { Principal } from '../model/principal.ts'
import type { Action, Level, Output, ToolDraft } from '../model/tool.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { Apis } from './openapi/apis.ts'
import type { ActionLookup } from './workflow/actions.ts'
import type { Workflow } from './workflow/definition.ts'

/** An operation of the platform, as a platform tool sees it. */
export interface PlatformAction {
  readonly name: string
  /** The permission to run it, and to add it to a tool. */
  readonly permission: string
  readonly level: Level
  readonly description: string
  readonly schema: JsonObject
  readonly aliases: Readonly<Record<string, string>>
  readonly idempotent: boolean
  readonly destructive: boolean
  readonly readOnly: boolean
}

/** What the validation of a tool needs. A project file is also validated without a platform. */
export type CheckDeps = Pick<ToolDeps, 'schemas' | 'platformActions' | 'allowStdio' | 'actions'>

/** The dependencies of a tool type, passed in so that types can be tested alone. */
export interface ToolDeps {
  readonly outbound: Pick<Outbound, 'client' | 'refusalOf'>
  readonly upstreams: Upstreams
  readonly lineage: Lineage
  /** Validates and compiles users' JSON Schemas. */
  readonly schemas: Schemas
  /** Whether tools can start local programs. */
  readonly allowStdio: boolean
  readonly credentials: Credentials
  /** The imported API documents. */
  readonly apis: Apis
  readonly platformActions: ReadonlyMap<string, PlatformAction>
  /** Runs an operation for a principal, with every check of the REST API. */
  perform(name: string, input: JsonObject, context: CallContext): Promise<Output | Waiting>
  /** The actions of all tools, for tools that call others. */
  readonly actions: ActionLookup
  /** Starts the run of a workflow, or finds the one that the same call has started, and waits for it. */
  runWorkflow(call: Execution, workflow: Workflow): Promise<Output | Waiting>
}

/** The caller, and the call that this is part of. */
export interface CallContext {
  readonly principal: Principal
  readonly callId: string
  readonly depth: number
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal
  readonly generation?: GenerationRef | undefined
  /** Values that a run forwards to the services behind its tools. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /** What to do if the call has to wait. Only with `resume` may the tool return `Waiting`. */
  readonly onWait?: OnWait
  /** The platform's base URL, as the caller knows it. */
  readonly home?: string | undefined
  /** How to start the run, for tools that run. */
  readonly run?: RunOptions | undefined
}

/** A call that has passed every check and is about to be executed. */
export interface Execution<Config extends object = object> extends CallContext {
  /** Its config is as registered: references to secrets have no values there. */
  readonly tool: ToolRecord<Config>
  /** The config with the values of its secrets. */
  readonly config: Config
  /** Redacts those values, and credentials that the config itself contains. */
  readonly redactor: Redactor
  /** The caller's connection; undefined if the tool needs none. */
  readonly authorization: Authorization | undefined
  readonly action: Action
  readonly input: JsonObject
  readonly timeoutMs: number
  readonly live: Live | undefined
}

/**
 * Headers that say for whom a call is made. The project comes from the validated credential; no header of the caller is
 * forwarded. `{ userId: 'u1' }` in the context of a run becomes `x-quartermaster-context-userid: u1`.
 */
export const identityHeaders = (
  { project_id: projectId }: { readonly project_id: string },
  context: CallContext['context'],
): Record<string, string> => ({ ...(context && contextHeaders(context)), 'x-quartermaster-project': projectId })

const contextHeaders = (context: NonNullable<CallContext['context']>) =>
  Object.fromEntries(
    Object.entries(context).map(([key, value]) => [`x-quartermaster-context-${key.toLowerCase()}`, value]),
  )

/** An action as a type defines it. The catalogue adds what is common to all types. */
export type ActionDefinition = Pick<
  Action,
  | 'name'
  | 'description'
  | 'schema'
  | 'wholeSchema'
  | 'outputSchema'
  | 'idempotent'
  | 'destructive'
  | 'readOnly'
  | 'resumable'
  | 'aliases'
  | 'definition'
  | 'method'
> & {
  /** The minimum level of the action. The level of the tool can raise it. */
  readonly level?: Level
}

/** What a type needs to reach another system: the config with the values of its secrets. Never pass it on to callers. */
export interface Filled<Config extends object = object> {
  readonly config: Config
  readonly redactor: Redactor
  /** A connection for requests that no caller made, such as listing the tools of a server. */
  readonly authorization: Authorization | undefined
}

/** A tool before it is registered or changed. */
export interface ToolChange<Config extends object = object> {
  readonly config: Config
  /** The previous config, if the type stays the same. */
  readonly before: Config | undefined
  readonly projectId: string
  readonly principal: Principal
  /** Throws unless the caller has the permission on the tool. */
  requireAllowed(permission: string): void
}

/** A credential that calls of a tool need, for people and for whatever supplies it. */
export const CredentialNeed = z.object({
  scheme: z.string().describe('Its name in the document: the key in openapi.credentials'),
  type: z.enum(['api_key', 'bearer', 'basic', 'oauth2', 'unsupported']),
  in: z.enum(['header', 'query', 'cookie']).nullable().describe('Where an API key is sent'),
  name: z.string().nullable().describe('The name of that header, parameter or cookie'),
  description: z.string().nullable(),
  authorization_url: z.string().nullable(),
  token_url: z.string().nullable(),
  discovery_url: z.string().nullable(),
  scopes: z.array(z.string()).describe('The scopes that its actions need'),
  actions: z.int().describe('Number of actions that can use it'),
  configured: z.boolean().describe('Whether the tool has it'),
})
export type CredentialNeed = z.infer<typeof CredentialNeed>

/** The change that a config is prepared for. */
export interface PreparedChange<Config extends object = object> {
  readonly before: Config | undefined
  readonly projectId: string
  /** Reads a stored file for the caller, with every check of the API. */
  readFile(id: string): Promise<Uint8Array>
}

/**
 * A kind of tool. Everything type-specific is here: how a tool is configured, which actions it offers, how it runs, and
 * which parts of its config are secret or affect what a call does.
 */
export interface ToolType<Config extends object = object> {
  readonly type: string
  /** Other names that the type can be registered under. */
  readonly aliases?: readonly string[]
  /** The label of the type in the dashboard. */
  readonly title: string
  readonly description: string
  /** Whether a tool of this type has several actions, so that callers must name one. */
  readonly many: boolean
  /**
   * The fields of the type. In the API they are top-level fields of the tool, and the fields of other types must be
   * omitted. A field that several types share has the same schema in each. Titles and descriptions become labels and
   * hints in the dashboard's form.
   */
  readonly config: z.ZodObject
  /** Paths of the fields that summarise what a tool calls: `['execute.url']`. */
  readonly summary?: readonly string[]
  /** What callers call its actions. By default, `action`. */
  readonly kind?: 'action' | 'workflow'
  /** Whether its actions depend on other tools, so that they are computed again when one changes. */
  readonly composed?: boolean
  /** Permissions that `authorize` checks and that no operation has. */
  readonly permissions?: readonly string[]
  /** Validation beyond the schema of the fields. */
  check?(
    draft: ToolDraft<Config>,
    deps: CheckDeps,
    place: { readonly projectId: string },
  ): readonly Fault[] | Promise<readonly Fault[]>
  /** Throws if the caller cannot register such a tool. */
  authorize?(change: ToolChange<Config>, deps: ToolDeps): void
  /**
   * Completes a config before it is stored, for example by fetching what it refers to. Runs after all other checks. If it
   * throws, nothing is stored.
   */
  prepare?(draft: ToolDraft<Config>, change: PreparedChange<Config>, deps: ToolDeps): Promise<Config>
  /**
   * Secret texts in the config. They are encrypted in the database, masked in every response, and redacted in results,
   * errors, the call log and the server log. A client that changes a tool can send the mask `[hidden]` back to keep one,
   * so the schema of a field with a secret should accept that text.
   */
  secrets(config: Config): readonly string[]
  /**
   * Where a call sends the secrets of the config. If it changes, masks no longer stand for them: nobody who cannot read a
   * secret should be able to send it elsewhere. By default, the origins of `addresses`.
   */
  secretsGoTo?(config: Config): unknown
  /** The config for callers who cannot change the tool. By default, the config with its secrets redacted. */
  masked?(config: Config): Config
  /**
   * The part of the config that an approval is bound to; by default all of it. If it changes before the decision, the
   * call is not made. Leave out only what does not affect what a call does, such as the value of a credential.
   */
  fingerprint?(config: Config): object
  /** The highest level among the actions, if the config determines it. By default, the level of the tool. */
  level?(config: Config, deps: ToolDeps): Level
  /** The current actions, which may be fetched from another system. */
  actions(
    tool: ToolRecord<Config>,
    deps: ToolDeps,
    filled: Filled<Config>,
  ): readonly ActionDefinition[] | Promise<readonly ActionDefinition[]>
  /**
   * How long a list of actions from another system is fresh, in milliseconds. Such a list is fetched only when needed,
   * kept while the system is unreachable, and redacted, and changes in its definitions are recorded. Undefined if the
   * config alone determines the actions: then they change only with the tool.
   */
  lifetime?(config: Config): number | undefined
  /** What the other system offers beside actions: prompts and resources. */
  offers?(tool: ToolRecord<Config>, deps: ToolDeps, filled: Filled<Config>): Promise<Offers>
  /** Calls the listener when a resource changes, until the returned function is called. */
  watch?(
    tool: ToolRecord<Config>,
    deps: ToolDeps,
    filled: Filled<Config>,
    uri: string,
    listener: () => void,
  ): Promise<() => void>
  /** Actions that use those. They are called like all others, but are in no list of actions. */
  readonly methods?: readonly ActionDefinition[]
  /** Whether the platform must not start while the actions cannot be read. */
  required?(config: Config): boolean
  /** Discards cached data of the other system. May return a new config to store. */
  refresh?(tool: ToolRecord<Config>, deps: ToolDeps, filled: Filled<Config>): Promise<Config | undefined>
  /** Fetches the list again if it is older than `maxAge`. Throws if that fails. */
  refreshStale?(tool: ToolRecord<Config>, deps: ToolDeps, filled: Filled<Config>, maxAge: number): Promise<void>
  /** The health of the other system, if there is one. */
  health?(tool: ToolRecord<Config>, deps: ToolDeps, filled: Filled<Config>): UpstreamHealth | Promise<UpstreamHealth>
  /** Where its requests go, if they can carry the credentials of a connection. */
  destination?(config: Config): Destination | undefined
  /** The credentials that calls need, as far as the type knows. */
  auth?(tool: ToolRecord<Config>, deps: ToolDeps): readonly CredentialNeed[] | Promise<readonly CredentialNeed[]>
  /** URLs that calls of the tool request, for `quartermaster doctor`. */
  addresses?(config: Config): readonly string[]
  /** Absent if the platform cannot run the tool itself. */
  execute?(call: Execution<Config>, deps: ToolDeps): Promise<Output | Waiting>
}

/** Defines a tool type with a typed config. The platform passes only configs that the schema has accepted. */
export const defineToolType = <Shape extends z.ZodRawShape>(
  type: Omit<ToolType<z.infer<z.ZodObject<Shape>>>, 'config'> & { readonly config: z.ZodObject<Shape> },
): ToolType => type
