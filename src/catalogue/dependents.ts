import type { Store } from '../store/store.ts'
import type { StoredTool } from '../store/tools.ts'
import { appOf, commonApp } from './app.ts'
import type { Catalogue, PreparedAction } from './catalogue.ts'

const maxListed = 10
/** Tools with more actions than this are not checked completely. */
const maxChecked = 100

/**
 * Describes what depends on a tool, for error messages: workflows and agents that use it, and servers that list one of its actions or
 * an app that would be empty without it. Servers that offer everything, or an app with other tools, do not count.
 */
export async function dependentsOf(
  tool: StoredTool,
  { store, catalogue }: { readonly store: Store; readonly catalogue: Catalogue },
): Promise<string[]> {
  const app = appOf(tool)
  const others = (await store.tools.names(tool.project_id)).filter(
    (other) => other.id !== tool.id && appOf(other) === app,
  )
  const isLast = others.length === 0 && app !== commonApp
  // Does not query upstream servers. The actions of a tool that is not cached are unknown.
  const entry = await catalogue.findLocal(tool.id)
  const actions = new Set(entry?.actions.keys())
  const servers = (await store.servers.listing(tool.project_id, app)).filter(
    (server) => isLast || server.app.actions?.some((action) => actions.has(action)),
  )
  const dependents = [
    ...(await workflowsCalling(tool, [...(entry?.actions.values() ?? [])], store)),
    ...(await store.agents.namesUsing(tool.project_id, tool.id)).map((name) => `the agent "${name}"`),
    ...servers.map(({ slug }) => `the server "${slug}"`),
  ]
  const rest = dependents.length - maxListed
  return rest > 0 ? [...dependents.slice(0, maxListed), `${rest} more`] : dependents
}

/** Workflows with a step that calls one of the actions. */
async function workflowsCalling(
  { id, project_id }: StoredTool,
  actions: readonly PreparedAction[],
  { tools }: Store,
): Promise<string[]> {
  const names = new Set<string>()
  for (const { action } of actions.slice(0, maxChecked)) {
    const call = `"call":${JSON.stringify(action.id)}`
    const found = await tools.containing(project_id, call)
    // In the query, "_" matches any character.
    for (const one of found) if (one.id !== id && JSON.stringify(one.config).includes(call)) names.add(one.name)
  }
  return [...names].map((name) => `the workflow "${name}"`)
}
