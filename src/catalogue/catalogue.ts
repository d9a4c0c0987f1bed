import { redactorOf } from '../credentials/tool-secrets.ts'
import type { Check, Schemas } from '../json-schema/schema.ts'
import { InvalidSchema } from '../json-schema/schema-compiler.ts'
import type { JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { type Action, higherLevel, type Level } from '../model/tool.ts'
import type { Store } from '../store/store.ts'
import type { ToolRecord } from '../store/tools.ts'
import { findToolType } from '../tools/index.ts'
import type { ActionSketch, Reach, ToolType } from '../tools/tool-type.ts'
import { watchDefinitions } from './definitions.ts'
import { presetsFor, shownSchema } from './presets.ts'

/** An action with all that a call needs of it, worked out once. */
export interface Offer {
  readonly action: Action
  readonly presets: JsonObject
  /** What the outside sees of the schema. */
  readonly shown: JsonObject
  /** It changed, and nobody has accepted that yet. */
  readonly withheld: boolean
  check(): Check
}

/** A tool and the actions it offers now, by their names within the tool. */
export interface Entry {
  readonly tool: ToolRecord
  readonly type: ToolType
  readonly offers: ReadonlyMap<string, Offer>
  /** Where the actions are someone else's, when to ask again. */
  readonly until?: number
  /** Whoever has the actions cannot be asked just now, and these are the last known ones. */
  readonly away?: boolean
}

/** How long the actions of an MCP server are believed without its word. */
const lifetimeElsewhere = 5 * 60_000
/** How long the last known ones are, while the server cannot be asked. */
const lifetimeWhileAway = 1000
/** What is older than this is asked for again when a conversation starts, which waits for that no longer than so long. */
const freshFor = 60_000
const longestWait = 2000

/** Where tools with a single action are filed, unless they say otherwise. */
export const commonApp = 'tools'

export const appOf = (tool: Pick<ToolRecord, 'app' | 'name'>, type: ToolType) =>
  tool.app ?? (type.many ? tool.name.toLowerCase() : commonApp)

/** Unless the tool says otherwise, open actions run at once and those above wait for a human. */
const autoApproveOf = (tool: Pick<ToolRecord, 'auto_approve'>, level: Level) => tool.auto_approve ?? level === 'open'

/** Whether every action of a tool runs at once; of a platform tool, some may need approval because of what they do. */
export const autoApprovesAll = (tool: ToolRecord, { platformActions }: Pick<Reach, 'platformActions'>): boolean => {
  const levels = (tool.actions ?? []).flatMap((name) => platformActions.get(name)?.level ?? [])
  return autoApproveOf(tool, levels.reduce(higherLevel, tool.level))
}

/** Which actions exist now. Held in memory until a tool changes. */
export class Catalogue {
  readonly #entries = new Map<string, Entry>()
  /** Those that are being read, so that a thousand callers of a new tool read it once; and how many changes were before. */
  readonly #waiting = new Map<string, { readonly entry: Promise<Entry | undefined>; readonly since: number }>()
  readonly #store: Store
  readonly #reach: Reach
  readonly #schemas: Schemas
  readonly #listeners = new Set<() => void>()
  #changes = 0

  constructor(store: Store, reach: Reach, schemas: Schemas) {
    this.#store = store
    this.#reach = reach
    this.#schemas = schemas
    store.notices.hear('tools', (ids) => {
      if (ids.length === 0) this.#entries.clear()
      for (const id of ids) this.#entries.delete(id)
      this.#changed()
    })
    reach.upstreams.onChange(() => {
      for (const [id, entry] of this.#entries) if (entry.tool.mcp) this.#entries.set(id, { ...entry, until: 0 })
      this.#changed()
    })
  }

  /** Told when the actions of any tool may have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  #changed(): void {
    this.#changes++
    for (const listener of this.#listeners) listener()
  }

  /** An entry that is in memory, and still believed; any other is found. */
  known(toolId: string): Entry | undefined {
    const known = this.#entries.get(toolId)
    return known && (known.until === undefined || known.until > Date.now()) ? known : undefined
  }

  async find(toolId: string): Promise<Entry | undefined> {
    const known = this.known(toolId)
    if (known) return known

    const waiting = this.#waiting.get(toolId)
    if (waiting?.since === this.#changes) return waiting.entry
    const entry = this.#read(toolId)
    this.#waiting.set(toolId, { entry, since: this.#changes })
    return entry
  }

  /**
   * For the start of a conversation: asks MCP servers again whose list is older than a minute. What they had stays where
   * one is away, or takes long; its answer is then for those who come later.
   */
  async renew(toolIds: Iterable<string>): Promise<void> {
    const renewals = [...toolIds].flatMap((id) => {
      const entry = this.#entries.get(id)
      return entry?.type.renew ? [entry.type.renew(entry.tool, this.#reach, freshFor)] : []
    })
    if (renewals.length === 0) return
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, longestWait)
    await Promise.race([Promise.allSettled(renewals), late])
    clearTimeout(timer)
  }

  async #read(toolId: string): Promise<Entry | undefined> {
    const changesBefore = this.#changes
    try {
      const tool = await this.#store.tools.find(toolId)
      const entry = tool && (await this.describe(tool))
      // A tool that changed while it was read is read again by the next call.
      if (entry && changesBefore === this.#changes) this.#entries.set(toolId, entry)
      return entry
    } catch (error) {
      const kept = this.#entries.get(toolId)
      if (!kept?.tool.mcp) throw error
      // The server is away. Its actions stay as they were last, and only calls of them fail.
      const entry = { ...kept, away: true, until: Date.now() + lifetimeWhileAway }
      if (changesBefore === this.#changes) this.#entries.set(toolId, entry)
      return entry
    } finally {
      if (this.#waiting.get(toolId)?.since === changesBefore) this.#waiting.delete(toolId)
    }
  }

  async describe(tool: ToolRecord): Promise<Entry> {
    const type = findToolType(tool.type)
    if (!type) throw new Error(`tool ${tool.id} has the unknown type ${tool.type}`)
    const offers = new Map<string, Offer>()
    const sketches = (await type.actions(tool, this.#reach)).map((sketch) => withoutSecrets(sketch, tool))
    const withheld = tool.mcp ? await watchDefinitions(tool, sketches, this.#store) : new Set<string>()
    for (const sketch of sketches) {
      const level = higherLevel(tool.level, sketch.level ?? 'open')
      const app = appOf(tool, type)
      const namespace = type.many ? tool.name : app
      const action: Action = {
        ...sketch,
        id: `${namespace}:${sketch.name}`,
        namespace,
        app,
        level,
        autoApprove: autoApproveOf(tool, level),
      }
      const presets = presetsFor(tool.preset_parameters, action)
      let check: Check | undefined
      offers.set(sketch.name, {
        action,
        presets,
        shown: shownSchema(action.schema, presets),
        withheld: withheld.has(sketch.name),
        check: () => {
          check ??= compiled(action, this.#schemas)
          return check
        },
      })
    }
    return { tool, type, offers, ...(tool.mcp && { until: Date.now() + lifetimeElsewhere }) }
  }
}

/** An MCP server may describe its tools with what it was sent. */
function withoutSecrets(sketch: ActionSketch, tool: ToolRecord): ActionSketch {
  const redactor = redactorOf(tool)
  if (redactor.isEmpty || !tool.mcp) return sketch
  const { description, schema, definition } = sketch
  const said = { description, schema, ...(definition && { definition }) }
  const clean = redactor.value<JsonObject>(said)
  return clean === said ? sketch : { ...sketch, ...(clean as typeof said) }
}

/** Schemas of our own users were checked when they were registered; those of MCP servers may be anything. */
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
