import type { Catalogue, Entry, Offer } from '../catalogue/catalogue.ts'
import { agentNames, findByName } from '../catalogue/names.ts'
import type { Action } from '../model/tool.ts'

/** An action under the name that a model calls it by. */
export interface AgentTool {
  readonly name: string
  readonly entry: Entry
  readonly offer: Offer
}

/** What an agent can call, by the names that a model sees. */
export class Toolbox {
  readonly #byName: ReadonlyMap<string, AgentTool>
  /** Tools whose actions could not be asked for just now. */
  readonly missing: readonly string[]

  constructor(byName: ReadonlyMap<string, AgentTool>, missing: readonly string[]) {
    this.#byName = byName
    this.missing = missing
  }

  get names(): string[] {
    return [...this.#byName.keys()]
  }

  /** Those of some tools, or all of them. */
  active(toolIds: readonly string[] | null): AgentTool[] {
    const all = [...this.#byName.values()]
    return toolIds === null ? all : all.filter(({ entry }) => toolIds.includes(entry.tool.id))
  }

  /** As it is, then with `_` and `-` taken for the same; nothing where that is ambiguous. */
  find(name: string): AgentTool | undefined {
    const [found, another] = findByName(this.#byName, name)
    return another ? undefined : found
  }
}

/** One server that is away must not take the other tools with it: its own are missing, and the model goes without. */
export async function toolboxOf(toolIds: readonly string[], projectId: string, catalogue: Catalogue): Promise<Toolbox> {
  const missing: string[] = []
  const found = await Promise.all(
    toolIds.map((id) =>
      catalogue.find(id).catch(() => {
        missing.push(id)
        return undefined
      }),
    ),
  )
  const offered = new Map<Action, { entry: Entry; offer: Offer }>()
  for (const entry of found) {
    // A tool that was removed, or that is another project's by now.
    if (entry?.tool.project_id !== projectId) continue
    for (const offer of entry.offers.values()) if (!offer.withheld) offered.set(offer.action, { entry, offer })
  }
  const named = agentNames(
    [...offered].map(([action, { entry }]) => ({ action, many: entry.type.many, toolId: entry.tool.id })),
  )
  return new Toolbox(
    new Map(
      [...named].map(([name, action]) => [name, { name, ...(offered.get(action) as { entry: Entry; offer: Offer }) }]),
    ),
    missing,
  )
}
