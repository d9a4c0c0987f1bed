import type { Server } from '../model/server.ts'
import type { Action } from '../model/tool.ts'
import type { Store } from '../store/store.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { Catalogue, Offer } from './catalogue.ts'
import { serverNames } from './names.ts'

/** An action as a server offers it. */
export interface Shelved {
  readonly tool: ToolRecord
  readonly offer: Offer
  readonly action: Action
  readonly kind: 'action' | 'workflow'
}

export type Named = readonly [name: string, shelved: Shelved]

/** What a server offers: its actions by the names of its tools, in a stable order. */
export interface Shelf {
  readonly named: readonly Named[]
  readonly byName: ReadonlyMap<string, Shelved>
  readonly all: readonly Shelved[]
  /** What would be offered, had its definition not changed: by the names that are kept for it. Nobody is shown these. */
  readonly withheld: ReadonlyMap<string, Shelved>
}

/** How long a shelf is believed; shorter when an upstream could not be asked, so that its actions soon appear. */
const lifetime = 60_000
const lifetimeIncomplete = 1000

interface Believed {
  readonly shelf: Promise<Shelf>
  /** The same, once it is there. */
  filled?: Shelf
  until: number
}

/** The shelves of all servers, held in memory until a tool, a server or an upstream changes. */
export class Shelves {
  readonly #shelves = new Map<string, Believed>()
  readonly #servers = new Map<string, Server>()
  #changes = 0
  readonly #store: Store
  readonly #catalogue: Catalogue

  constructor(store: Store, catalogue: Catalogue) {
    this.#store = store
    this.#catalogue = catalogue
    catalogue.onChange(() => this.#shelves.clear())
    store.notices.hear('servers', () => {
      this.#changes++
      this.#servers.clear()
      this.#shelves.clear()
    })
  }

  /** By id or slug. */
  async findServer(reference: string): Promise<Server | undefined> {
    const known = this.#servers.get(reference)
    if (known) return known
    const before = this.#changes
    const server = await this.#store.servers.find(reference)
    if (server && before === this.#changes) this.#servers.set(reference, server)
    return server
  }

  /** A shelf that is filled, and still believed. */
  known(server: Server): Shelf | undefined {
    const known = this.#shelves.get(server.id)
    return known && known.until > Date.now() ? known.filled : undefined
  }

  of(server: Server): Promise<Shelf> {
    const known = this.#shelves.get(server.id)
    if (known && known.until > Date.now()) return known.shelf

    const entry: Believed = {
      shelf: this.#fill(server, () => (entry.until = Date.now() + lifetimeIncomplete)),
      until: Date.now() + lifetime,
    }
    entry.shelf.then(
      (shelf) => (entry.filled = shelf),
      () => this.#shelves.delete(server.id),
    )
    this.#shelves.set(server.id, entry)
    return entry.shelf
  }

  async #fill(server: Server, onMissing: () => void): Promise<Shelf> {
    const tools = await this.#toolsOf(server.project_id)
    const found = await Promise.all(
      tools.map((tool) =>
        this.#catalogue.find(tool.id).catch(() => {
          // One upstream that is away must not take the others' actions with it.
          onMissing()
          return undefined
        }),
      ),
    )
    if (found.some((entry) => entry?.away)) onMissing()
    const offered = found.flatMap((entry) => {
      // What runs in the caller cannot be run for an MCP client.
      if (!entry?.type.execute) return []
      return [...entry.offers.values()].map((offer) => ({
        tool: entry.tool,
        offer,
        action: offer.action,
        kind: 'action' as const,
      }))
    })
    // Named together, so that nobody who calls what is withheld by its name reaches another action.
    const names = serverNames(
      offered.filter(({ action }) => isOn(server, action)),
      server.tool_names,
    )
    const named = [...names].filter(([, { offer }]) => !offer.withheld)
    const withheld = [...names].filter(([, { offer }]) => offer.withheld)
    return { named, byName: new Map(named), all: named.map(([, one]) => one), withheld: new Map(withheld) }
  }

  async #toolsOf(projectId: string): Promise<ToolRecord[]> {
    const tools: ToolRecord[] = []
    for (let offset = 0; ; offset += 500) {
      const page = await this.#store.tools.list({ project_id: projectId, limit: 500, offset }, undefined)
      tools.push(...page.data)
      if (tools.length >= page.total || page.data.length === 0) return tools
    }
  }
}

const isOn = ({ apps }: Server, action: Action): boolean =>
  apps === null ||
  apps.some(({ slug, actions }) => slug === action.app && (actions === undefined || actions.includes(action.name)))
