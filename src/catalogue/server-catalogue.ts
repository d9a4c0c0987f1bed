import { Cached } from '../db/cached.ts'
import type { Server } from '../model/server.ts'
import type { Action } from '../model/tool.ts'
import type { Store } from '../store/store.ts'
import type { StoredTool, ToolRecord } from '../store/tools.ts'
import type { ToolType } from '../tools/tool-type.ts'
import { appOf } from './app.ts'
import type { Catalogue, PreparedAction, ToolEntry } from './catalogue.ts'
import { serverNames } from './names.ts'

/** An action as a server offers it. */
export interface ServerAction {
  readonly tool: ToolRecord
  readonly type: ToolType
  readonly prepared: PreparedAction
  readonly action: Action
  readonly kind: 'action' | 'workflow'
}

export type NamedAction = readonly [name: string, action: ServerAction]

/** The actions of a server by tool name, in a stable order. */
export interface ServerCatalogue {
  readonly named: readonly NamedAction[]
  readonly byName: ReadonlyMap<string, ServerAction>
  readonly all: readonly ServerAction[]
  /** Actions that are withheld because their definition changed, by their reserved names. Not listed for clients. */
  readonly withheld: ReadonlyMap<string, ServerAction>
  /** The tools whose prompts and resources the server passes on. */
  readonly passed: { readonly prompts: readonly ToolEntry[]; readonly resources: readonly ToolEntry[] }
  /** False if an upstream server was unreachable. */
  readonly complete: boolean
  /** Catalogues of a server with the same version have the same tools. The lists of upstream servers may differ. */
  readonly version: number
}

/** How long a server catalogue is cached. Shorter if an upstream server was unreachable, so its actions appear soon. */
const lifetime = 60_000
const lifetimeIncomplete = 1000

/** Caches the catalogue of each server until a tool, a server or an upstream server changes. */
export class ServerCatalogues {
  readonly #catalogues: Cached<ServerCatalogue>
  /** Built from lists that may be stale. */
  readonly #recent: Cached<ServerCatalogue>
  readonly #servers: Cached<Server>
  readonly #store: Store
  readonly #catalogue: Catalogue
  #version = 0

  constructor(store: Store, catalogue: Catalogue) {
    this.#store = store
    this.#catalogue = catalogue
    this.#servers = new Cached(store.changes, { clearOn: ['servers'] })
    const options = { lifetime: ({ complete }: ServerCatalogue) => (complete ? lifetime : lifetimeIncomplete) }
    this.#catalogues = new Cached(store.changes, options)
    this.#recent = new Cached(store.changes, options)
    store.changes.subscribe('servers', () => this.#clear())
    catalogue.onChange((source) => (source === 'tools' ? this.#clear() : this.#expire()))
  }

  #clear(): void {
    this.#version++
    this.#catalogues.clear()
    this.#recent.clear()
  }

  #expire(): void {
    this.#catalogues.expire(() => true)
    this.#recent.expire(() => true)
  }

  /** By id or slug. */
  async findServer(reference: string): Promise<Server | undefined> {
    return this.#servers.peek(reference) ?? this.#servers.find(reference, () => this.#store.servers.find(reference))
  }

  /** The catalogue if it is cached and fresh. */
  peek(server: Server): ServerCatalogue | undefined {
    return this.#catalogues.peek(server.id)
  }

  of(server: Server): Promise<ServerCatalogue> {
    return this.#catalogues.find(server.id, () => this.#load(server, (id) => this.#catalogue.find(id)))
  }

  /**
   * The last known catalogue, for searches: they do not wait until upstream servers are listed again, which happens in the
   * background. Changes of tools and servers show at once.
   */
  async recent(server: Server): Promise<ServerCatalogue> {
    const fresh = this.peek(server)
    if (fresh) return fresh
    this.of(server).catch(() => {})
    const last = this.#catalogues.last(server.id) ?? this.#recent.last(server.id)
    if (last) return last
    const find = (id: string) => this.#catalogue.findRecent(id, () => this.#expire())
    return this.#recent.find(server.id, () => this.#load(server, find))
  }

  async #load(server: Server, find: Catalogue['find']): Promise<ServerCatalogue> {
    const version = this.#version
    const tools = await this.#toolsOf(server.project_id)
    // One unreachable upstream server must not hide the actions of the others.
    const found = await Promise.allSettled(tools.map((tool) => find(tool.id)))
    const complete = found.every((one) => one.status === 'fulfilled' && !one.value?.unreachable)
    const entries = found.flatMap((one) => (one.status === 'fulfilled' ? (one.value ?? []) : []))
    const passed = { prompts: passedBy(server, 'prompts', entries), resources: passedBy(server, 'resources', entries) }
    const offered = found.flatMap((one) => {
      const entry = one.status === 'fulfilled' ? one.value : undefined
      // Client tools run in the caller, so MCP clients cannot use them.
      if (!entry?.type.execute) return []
      return [...entry.actions.values()].map((prepared) => ({
        tool: entry.tool,
        type: entry.type,
        prepared,
        action: prepared.action,
        kind: entry.type.kind ?? 'action',
      }))
    })
    // Withheld actions keep their names, so that a call by such a name never reaches another action.
    const names = serverNames(
      offered.filter((one) => isOn(server, one)),
      server.tool_names,
    )
    const named = [...names].filter(([, { prepared }]) => !prepared.withheld)
    const withheld = [...names].filter(([, { prepared }]) => prepared.withheld)
    const all = named.map(([, one]) => one)
    return { named, byName: new Map(named), all, withheld: new Map(withheld), passed, complete, version }
  }

  async #toolsOf(projectId: string): Promise<StoredTool[]> {
    const tools: StoredTool[] = []
    for (let offset = 0; ; offset += 500) {
      const page = await this.#store.tools.list({ project_id: projectId, limit: 500, offset }, undefined)
      tools.push(...page.data)
      if (tools.length >= page.total || page.data.length === 0) return tools
    }
  }
}

/** In a stable order. An app of which the server offers only some actions passes nothing else, unless its entry says so. */
function passedBy(server: Server, kind: 'prompts' | 'resources', entries: readonly ToolEntry[]): readonly ToolEntry[] {
  const { apps } = server
  if (!server[`pass_${kind}`]) return []
  const passes = ({ tool, type }: ToolEntry) => {
    const app = apps?.find(({ slug }) => slug === appOf(tool))
    return type.offers && (apps === null || (app && (app[kind] ?? app.actions === undefined)))
  }
  return entries.filter(passes).sort((a, b) => (a.tool.id < b.tool.id ? -1 : 1))
}

/** Whether the server offers it: everything, its whole app, or what the app lists of its kind. */
const isOn = ({ apps }: Server, { action, kind }: Pick<ServerAction, 'action' | 'kind'>): boolean =>
  apps === null ||
  apps.some(({ slug, actions, workflows }) => {
    const listed = { action: actions, workflow: workflows }[kind]
    return slug === action.app && (listed === undefined || listed.includes(action.name))
  })
