import type { ConnectedTool } from '../credentials/connections/access.ts'
import type { Store } from '../store/store.ts'
import type { StoredTool } from '../store/tools.ts'
import type { CredentialNeed, ToolType } from '../tools/tool-type.ts'
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
    /** The credentials that the calls of a tool need. */
    needsOf(tool: StoredTool): Promise<readonly CredentialNeed[]>
  },
): Promise<ConnectedTool[]> {
  const { store, types, open, needsOf } = deps
  const ids =
    toolId === null
      ? (await store.tools.names(projectId)).filter((one) => appOf(one) === app).map(({ id }) => id)
      : [toolId]
  const tools = await Promise.all(ids.map((id) => store.tools.find(id)))
  const own = tools.filter((tool) => tool?.project_id === projectId) as StoredTool[]
  return Promise.all(
    own.map(async (tool) => {
      const connected = connectedTool(tool, types.of(tool), (await open(tool)).filled.config)
      const suggested = suggestion(await needsOf(tool))
      return suggested ? { ...connected, suggested } : connected
    }),
  )
}

/** The first scheme that needs nothing but a key or a password. For OAuth, a client has to be registered first. */
function suggestion(needs: readonly CredentialNeed[]): ConnectedTool['suggested'] {
  for (const { type, in: place, name } of needs) {
    if (type === 'bearer' || type === 'basic') return { type, settings: {} }
    if (type !== 'api_key' || name === null) continue
    if (place === 'header') return { type, settings: { header: name } }
    if (place === 'query') return { type, settings: { query: name } }
  }
  return undefined
}
