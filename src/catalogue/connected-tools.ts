import type { ConnectedTool } from '../credentials/connections/access.ts'
import type { Store } from '../store/store.ts'
import type { StoredTool } from '../store/tools.ts'
import type { ToolType } from '../tools/tool-type.ts'
import type { ToolTypes } from '../tools/tool-types.ts'
import { appOf } from './app.ts'

const known = new WeakMap<object, ConnectedTool>()

/** A tool as connections see it. Created once per config. */
export function connectedTool(
  tool: Pick<StoredTool, 'id' | 'project_id' | 'app' | 'name' | 'many_actions' | 'config'>,
  type: ToolType,
  config: object = tool.config,
): ConnectedTool {
  let connected = known.get(config)
  if (connected?.id !== tool.id) {
    const { id, project_id } = tool
    connected = { id, project_id, app: appOf(tool), destination: type.destination?.(config) }
    known.set(config, connected)
  }
  return connected
}

/** The tools that use connections for a target: one tool, or all of an app. */
export async function connectedToolsFor(
  projectId: string,
  { app, tool_id: toolId }: { readonly app: string | null; readonly tool_id: string | null },
  deps: {
    readonly store: Store
    readonly types: ToolTypes
    open(tool: StoredTool): Promise<{ readonly filled: { readonly config: object } }>
  },
): Promise<ConnectedTool[]> {
  const { store, types, open } = deps
  const ids =
    toolId === null
      ? (await store.tools.names(projectId)).filter((one) => appOf(one) === app).map(({ id }) => id)
      : [toolId]
  const tools = await Promise.all(ids.map((id) => store.tools.find(id)))
  const own = tools.filter((tool) => tool?.project_id === projectId) as StoredTool[]
  return Promise.all(own.map(async (tool) => connectedTool(tool, types.of(tool), (await open(tool)).filled.config)))
}
