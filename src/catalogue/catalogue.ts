import { type Authorization, ConnectionNeeded } from '../credentials/connections/authorization.ts'
import type { FilledConfig } from '../credentials/credentials.ts'
import { Redactor } from '../credentials/redactor.ts'
import { secretPresets } from '../credentials/sealed-config.ts'
import { Cached } from '../db/cached.ts'
import type { Check, Schemas } from '../json-schema/schema.ts'
import { InvalidSchema } from '../json-schema/schema-compiler.ts'
import type { JsonObject } from '../lib/json.ts'
import { noOffers, type Offers } from '../mcp/client/offers.ts'
import { PlatformError } from '../model/errors.ts'
import { type Action, type ActionSettings, higherLevel, type Level } from '../model/tool.ts'
import type { Store } from '../store/store.ts'
import type { StoredTool, ToolRecord } from '../store/tools.ts'
import type { ActionDefinition, CredentialNeed, Filled, ToolDeps, ToolType } from '../tools/tool-type.ts'
import type { ToolTypes } from '../tools/tool-types.ts'
import { appOf } from './app.ts'
import { connectedTool } from './connected-tools.ts'
import { watchDefinitions } from './definitions.ts'
import { presetsFor, shownSchema } from './presets.ts'

/** An action with everything that a call needs, computed once. */
export interface PreparedAction {
  readonly action: Action
  readonly presets: JsonObject
  /** The schema that callers see, without preset parameters. */
  readonly publicSchema: JsonObject
  /** The definition changed and the change is not accepted yet. */
  readonly withheld: boolean
  check(): Check
}

/** A tool and the actions it offers now, by their names within the tool. */
export interface ToolEntry {
  readonly tool: ToolRecord
  readonly type: ToolType
  /** The config with the values of its secrets. */
  readonly filled: Filled & Pick<FilledConfig<object>, 'fault'>
  readonly actions: ReadonlyMap<string, PreparedAction>
  /** Methods of the tool's protocol, such as `prompts/get`. Callers never see them as actions. */
  readonly methods: ReadonlyMap<string, PreparedAction>
  /** The upstream server is unreachable, and these are the last known actions. */
  readonly unreachable?: boolean
}

/** How long the last known actions are cached while the upstream server is unreachable. */
const lifetimeWhileAway = 1000
/** When a conversation starts, lists older than this are refreshed. */
const freshFor = 60_000
/** The maximum time that the start of a conversation waits for the refresh. */
const longestWait = 2000

/** Actions that do not come from an upstream server are cached until their tool changes. */
const cacheTimeOf = ({ tool, type, unreachable }: ToolEntry): number =>
  unreachable ? lifetimeWhileAway : (lifetimeOf(tool, type) ?? Number.POSITIVE_INFINITY)

/** By default, actions at level `open` run immediately and all others need approval. */
const autoApproveOf = (tool: Pick<StoredTool, 'auto_approve'>, level: Level) => tool.auto_approve ?? level === 'open'

/** What is set for one action: its own settings, then those for all others. */
function settingsFor({ action_settings: all }: Pick<StoredTool, 'action_settings'>, name: string): ActionSettings {
  if (!all) return noSettings
  const own = (key: string) => (Object.hasOwn(all, key) ? all[key] : undefined)
  return { ...own('*'), ...own(name) }
}

const noSettings: ActionSettings = {}

/** Whether actions of a tool run without approval, unless something else is set for one of them. */
export const autoApprovesAll = (
  tool: Pick<StoredTool, 'auto_approve' | 'level' | 'config'>,
  type: ToolType,
  deps: ToolDeps,
): boolean => autoApproveOf(tool, higherLevel(tool.level, type.level?.(tool.config, deps) ?? 'open'))

/** What may have changed: tools and what they are configured with, or the list of an upstream server. */
export type ChangeSource = 'tools' | 'upstream'

/** The current actions of all tools, cached until a tool changes. */
export class Catalogue {
  readonly #entries: Cached<ToolEntry>
  readonly #store: Store
  readonly #deps: ToolDeps
  readonly #types: ToolTypes
  readonly #listeners = new Set<(source: ChangeSource) => void>()

  constructor(store: Store, deps: ToolDeps, types: ToolTypes) {
    this.#store = store
    this.#deps = deps
    this.#types = types
    this.#entries = new Cached(store.changes, { removeOn: ['tools'], lifetime: cacheTimeOf })
    store.changes.subscribe('tools', () => {
      this.#entries.expire(({ type }) => type.composed === true)
      this.#changed('tools')
    })
    store.changes.subscribe('secrets', (projects) => this.#secretsChanged(projects))
    store.changes.subscribe('connections', (ids) => this.#connectionsChanged(ids))
    deps.upstreams.onChange(() => {
      this.#entries.expire(({ tool, type }) => lifetimeOf(tool, type) !== undefined || type.composed === true)
      this.#changed('upstream')
    })
  }

  /** Calls the listener when the actions of any tool may have changed. */
  onChange(listener: (source: ChangeSource) => void): void {
    this.#listeners.add(listener)
  }

  /** Tools that use secrets of these projects get the values again, and connections with the old ones are closed. */
  #secretsChanged(projects: readonly string[]): void {
    const ids: string[] = []
    this.#entries.expire(({ tool, filled }) => {
      const isInProject = projects.length === 0 || projects.includes(tool.project_id)
      const isAffected = isInProject && filled.config !== tool.config
      if (isAffected) ids.push(tool.id)
      return isAffected
    })
    this.#deps.upstreams.release(ids)
    this.#changed('tools')
  }

  /** With a new connection, the list of a server that needs one can be read. New tokens of a connection change nothing. */
  #connectionsChanged(ids: readonly string[]): void {
    if (ids.length > 0 && !ids.some((id) => id.startsWith('proj_'))) return
    const isInProject = ({ tool }: ToolEntry) => ids.length === 0 || ids.includes(tool.project_id)
    this.#entries.expire((entry) => isInProject(entry) && lifetimeOf(entry.tool, entry.type) !== undefined)
    this.#changed('tools')
  }

  #changed(source: ChangeSource): void {
    for (const listener of this.#listeners) listener(source)
  }

  /** The entry if it is cached and fresh. */
  peek(toolId: string): ToolEntry | undefined {
    return this.#entries.peek(toolId)
  }

  find(toolId: string): Promise<ToolEntry | undefined> {
    return this.#entries.find(toolId, () => this.#load(toolId))
  }

  /**
   * The last known entry of a tool whose list comes from an upstream server, even if it is stale. It is then listed again in
   * the background, and then `onListed` is called. Waits only for lists that are not known at all.
   */
  async findRecent(toolId: string, onListed: () => void): Promise<ToolEntry | undefined> {
    const last = this.#entries.last(toolId)
    if (!last || this.peek(toolId) || lifetimeOf(last.tool, last.type) === undefined) return this.find(toolId)
    this.find(toolId).then(
      (entry) => !entry?.unreachable && onListed(),
      () => {},
    )
    return last
  }

  /** The entry if it is cached or can be built without a request to an upstream server. */
  async findLocal(toolId: string): Promise<ToolEntry | undefined> {
    const cached = this.peek(toolId)
    if (cached) return cached
    const tool = await this.#store.tools.find(toolId)
    return tool && lifetimeOf(tool, this.typeOf(tool)) === undefined ? this.find(toolId) : undefined
  }

  typeOf(tool: Pick<StoredTool, 'type'>): ToolType {
    return this.#types.of(tool)
  }

  /**
   * Refreshes tool lists of MCP servers that are older than a minute, at the start of a conversation. If a server is
   * unreachable or slow, its last list stays in use. A late answer is used by later conversations.
   */
  async refreshStale(toolIds: Iterable<string>): Promise<void> {
    const renewals = [...toolIds].flatMap((id) => {
      const entry = this.#entries.last(id)
      if (!entry?.type.refreshStale) return []
      const { tool, type, filled } = entry
      const refresh = async () => {
        const authorization = await this.#authorizationOf(tool, filled)
        await type.refreshStale?.(tool, this.#deps, { ...filled, authorization }, freshFor)
      }
      return filled.fault ? [] : [refresh()]
    })
    if (renewals.length === 0) return
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, longestWait)
    await Promise.race([Promise.allSettled(renewals), late])
    clearTimeout(timer)
  }

  async #load(toolId: string): Promise<ToolEntry | undefined> {
    try {
      const tool = await this.#store.tools.find(toolId)
      return tool && (await this.describe(tool))
    } catch (error) {
      const last = this.#entries.last(toolId)
      if (!last || lifetimeOf(last.tool, last.type) === undefined) throw error
      // The server is unreachable. Keep its last known actions; only calls fail.
      return { ...last, filled: await this.#fill(last.tool), unreachable: true }
    }
  }

  /** Fills the values of secrets into the config of a tool. */
  async #fill(tool: ToolRecord): Promise<ToolEntry['filled']> {
    const { config, secrets, fault } = await this.#deps.credentials.fill(tool)
    const own = [...this.typeOf(tool).secrets(config), ...secretPresets(tool.preset_parameters)]
    const redactor = new Redactor([...own, ...secrets])
    return { config, redactor, authorization: undefined, ...(fault && { fault }) }
  }

  /** Decrypts the config of a tool and fills in the values of its secrets. */
  async open(stored: StoredTool): Promise<Pick<ToolEntry, 'tool' | 'filled'>> {
    const { tool, fault } = this.#deps.credentials.open(stored)
    const filled = await this.#fill(tool)
    return { tool, filled: fault ? { ...filled, fault } : filled }
  }

  /** Lists are shared by all callers, so any connection of the project will do. */
  async #authorizationOf(tool: ToolRecord, { config }: Filled): Promise<Authorization | undefined> {
    const connected = connectedTool(tool, this.typeOf(tool), config)
    return this.#deps.credentials.authorizeListing(connected).catch((error: unknown) => {
      throw required(error, connected.app)
    })
  }

  async #list(tool: ToolRecord, filled: Filled): Promise<readonly ActionDefinition[]> {
    const authorization = await this.#authorizationOf(tool, filled)
    try {
      return await this.typeOf(tool).actions(tool, this.#deps, { ...filled, authorization })
    } catch (error) {
      throw required(error, appOf(tool))
    }
  }

  /** The same, for a request to another system: throws if a secret or a connection is missing. */
  async requireFilled(stored: StoredTool): Promise<Pick<ToolEntry, 'tool' | 'filled'>> {
    const { tool, filled } = await this.open(stored)
    if (filled.fault) throw filled.fault
    return { tool, filled: { ...filled, authorization: await this.#authorizationOf(tool, filled) } }
  }

  /** The credentials that calls of a tool need. */
  async needsOf(stored: StoredTool): Promise<readonly CredentialNeed[]> {
    const type = this.typeOf(stored)
    return type.auth ? type.auth((await this.open(stored)).tool, this.#deps) : []
  }

  async describe(stored: StoredTool): Promise<ToolEntry> {
    const { tool, filled } = await this.open(stored)
    const type = this.typeOf(tool)
    const lifetime = lifetimeOf(tool, type)
    // Without its credentials, another system cannot be asked.
    if (filled.fault && lifetime !== undefined) throw filled.fault
    const listed =
      lifetime === undefined ? await type.actions(tool, this.#deps, filled) : await this.#list(tool, filled)
    const sketches = lifetime === undefined ? listed : listed.map((one) => withoutSecrets(one, filled.redactor))
    const withheld = lifetime === undefined ? nothing : await watchDefinitions(tool, sketches, this.#store)
    const prepare = (sketch: ActionDefinition, presets: ToolRecord['preset_parameters']) =>
      [sketch.name, this.#prepare(tool, sketch, presets, withheld)] as const
    const enabled = sketches.filter(({ name }) => settingsFor(tool, name).enabled !== false)
    const actions = new Map(enabled.map((sketch) => prepare(sketch, tool.preset_parameters)))
    const methods = new Map(type.methods?.map((sketch) => prepare(sketch, null)))
    return { tool, type, filled, actions, methods }
  }

  #prepare(
    tool: ToolRecord,
    sketch: ActionDefinition,
    preset: ToolRecord['preset_parameters'],
    withheld: ReadonlySet<string>,
  ): PreparedAction {
    const type = this.typeOf(tool)
    const own = sketch.method ? noSettings : settingsFor(tool, sketch.name)
    const level = levelOf(tool, sketch, own, type)
    const app = appOf(tool)
    const namespace = type.many ? tool.name : app
    const id = `${namespace}:${sketch.name}`
    const approvalSetting = own.auto_approve ?? tool.auto_approve
    const autoApprove = approvalSetting ?? level === 'open'
    const action: Action = { ...sketch, id, namespace, app, level, autoApprove, approvalSetting }
    const presets = presetsFor(preset, action)
    let check: Check | undefined
    return {
      action,
      presets,
      publicSchema: shownSchema(action.schema, presets),
      withheld: action.method === undefined && withheld.has(sketch.name),
      check: () => {
        check ??= compiled(action, this.#deps.schemas)
        return check
      },
    }
  }

  /** Calls the listener when a resource changes, until the returned function is called. */
  async watch(
    { tool, type, filled }: ToolEntry,
    endUserId: string | null,
    uri: string,
    listener: () => void,
  ): Promise<() => void> {
    const own = await this.#filledFor({ tool, type, filled }, endUserId)
    return (await type.watch?.(tool, this.#deps, own, uri, listener)) ?? (() => {})
  }

  /** With the connection of a caller. */
  async #filledFor(
    { tool, type, filled }: Pick<ToolEntry, 'tool' | 'type' | 'filled'>,
    endUserId: string | null,
  ): Promise<Filled> {
    if (filled.fault) throw filled.fault
    const connected = connectedTool(tool, type, filled.config)
    return { ...filled, authorization: await this.#deps.credentials.authorize(connected, endUserId) }
  }

  /**
   * The prompts and resources of a tool, over the caller's own connection: unlike actions, they can differ from account to
   * account.
   */
  async offers({ tool, type, filled }: ToolEntry, endUserId: string | null): Promise<Offers> {
    if (!type.offers) return noOffers
    const own = await this.#filledFor({ tool, type, filled }, endUserId)
    const offers = await type.offers(tool, this.#deps, own)
    const redactors = [own.redactor, ...(own.authorization?.redactors ?? [])]
    return redactors.reduce((clean, one) => (one.isEmpty ? clean : (one.value(clean as never) as Offers)), offers)
  }
}

/** The level of the tool, raised by the definition of the action, unless one is set for the action. */
function levelOf(tool: ToolRecord, sketch: ActionDefinition, own: ActionSettings, type: ToolType): Level {
  const defined = higherLevel(tool.level, sketch.level ?? 'open')
  // The level of a platform action comes from the platform itself, so it can only be raised.
  return type.level && own.level ? higherLevel(sketch.level ?? 'open', own.level) : (own.level ?? defined)
}

const nothing: ReadonlySet<string> = new Set()

/** Without a caller there is nobody to send to a page. Dispatch adds a link for the caller. */
const required = (error: unknown, app: string): unknown =>
  error instanceof ConnectionNeeded
    ? new PlatformError(
        'CONNECTION_REQUIRED',
        { app, reason: error.reason, connect_url: null, expires_at: null },
        { cause: error },
      )
    : error

const lifetimeOf = (tool: Pick<StoredTool, 'config'>, type: ToolType) => type.lifetime?.(tool.config)

/** Removes the tool's credentials from the definition, because an upstream server may echo what it was sent. */
function withoutSecrets(sketch: ActionDefinition, redactor: Redactor): ActionDefinition {
  if (redactor.isEmpty) return sketch
  const { description, schema, definition } = sketch
  const texts = { description, schema, ...(definition && { definition }) }
  const clean = redactor.value<JsonObject>(texts)
  return clean === texts ? sketch : { ...sketch, ...(clean as typeof texts) }
}

/** Schemas of registered tools were checked on creation. Schemas from MCP servers can be invalid. */
function compiled({ id, schema }: Action, schemas: Schemas): Check {
  const invalid = (cause: unknown): unknown =>
    cause instanceof InvalidSchema
      ? new PlatformError('TOOL_SCHEMA_INVALID', { action: id, reason: cause.message }, { cause })
      : cause
  const rethrow = (cause: unknown): never => {
    throw invalid(cause)
  }
  try {
    const check = schemas.compile(schema)
    return (input) => {
      const faults = check(input)
      return faults instanceof Promise ? faults.catch(rethrow) : faults
    }
  } catch (cause) {
    throw invalid(cause)
  }
}
