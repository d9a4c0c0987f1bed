import type { Catalogue, PreparedAction, ToolEntry } from '../catalogue/catalogue.ts'
import { agentNames, findByName } from '../catalogue/names.ts'
import type { Action } from '../model/tool.ts'

/** An action under the name that a model calls it by. */
export interface AgentTool {
  readonly name: string
  readonly entry: ToolEntry
  readonly prepared: PreparedAction
}

/** The actions that an agent can call, by the names that the model sees. */
export class Toolbox {
  readonly #byName: ReadonlyMap<string, AgentTool>
  /** Tools whose actions could not be listed, for example because their MCP server is down. */
  readonly missing: readonly string[]

  constructor(byName: ReadonlyMap<string, AgentTool>, missing: readonly string[]) {
    this.#byName = byName
    this.missing = missing
  }

  get names(): string[] {
    return [...this.#byName.keys()]
  }

  /** The actions of these tools; null means all. */
  active(toolIds: readonly string[] | null): AgentTool[] {
    const all = [...this.#byName.values()]
    return toolIds === null ? all : all.filter(({ entry }) => toolIds.includes(entry.tool.id))
  }

  /** By exact name first, then treating `_` and `-` as equal; undefined if that is ambiguous. */
  find(name: string): AgentTool | undefined {
    const [found, another] = findByName(this.#byName, name)
    return another ? undefined : found
  }
}

/** A server that is down must not affect the other tools: only its own are left out. */
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
  const offered = new Map<Action, { entry: ToolEntry; prepared: PreparedAction }>()
  for (const entry of found) {
    // Skip tools that were removed, or that belong to another project now.
    if (entry?.tool.project_id !== projectId) continue
    for (const prepared of entry.actions.values())
      if (!prepared.withheld) offered.set(prepared.action, { entry, prepared })
  }
  const named = agentNames(
    [...offered].map(([action, { entry }]) => ({ action, many: entry.type.many, toolId: entry.tool.id })),
  )
  return new Toolbox(
    new Map(
      [...named].map(([name, action]) => [
        name,
        { name, ...(offered.get(action) as { entry: ToolEntry; prepared: PreparedAction }) },
      ]),
    ),
    missing,
  )
}
