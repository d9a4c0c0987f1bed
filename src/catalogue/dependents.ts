import type { Store } from '../store/store.ts'
import type { ToolRecord } from '../store/tools.ts'
import { type Catalogue, commonApp } from './catalogue.ts'
import { nameOfApp } from './missing.ts'

const mostListed = 10

/**
 * What would miss a tool, in words: agents that have it, and servers that name one of its actions, or an app in which
 * nothing would be left. A server that offers everything, or an app with other tools, goes on without it.
 */
export async function dependentsOf(
  tool: ToolRecord,
  { store, catalogue }: { readonly store: Store; readonly catalogue: Catalogue },
): Promise<string[]> {
  const app = nameOfApp(tool)
  const others = (await store.tools.names(tool.project_id)).filter(
    (other) => other.id !== tool.id && nameOfApp(other) === app,
  )
  const isLast = others.length === 0 && app !== commonApp
  // An MCP server is not asked for this: of one that nobody has asked lately no action is known.
  const entry = tool.mcp ? catalogue.known(tool.id) : await catalogue.find(tool.id)
  const actions = new Set(entry?.offers.keys())
  const servers = (await store.servers.offering(tool.project_id, app)).filter(
    (server) => isLast || server.app.actions?.some((action) => actions.has(action)),
  )
  const dependents = [
    ...(await store.agents.namesUsing(tool.project_id, tool.id)).map((name) => `the agent "${name}"`),
    ...servers.map(({ slug }) => `the server "${slug}"`),
  ]
  const rest = dependents.length - mostListed
  return rest > 0 ? [...dependents.slice(0, mostListed), `${rest} more`] : dependents
}
