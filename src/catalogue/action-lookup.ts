import { Cached } from '../db/cached.ts'
import type { Store } from '../store/store.ts'
import type { StoredTool } from '../store/tools.ts'
import type { ActionLookup, KnownAction } from '../tools/workflow/actions.ts'
import { appOf } from './app.ts'
import type { Catalogue, PreparedAction, ToolEntry } from './catalogue.ts'

/** Enough for suggestions. */
const maxSuggested = 200

/** Finds actions of a project by their ids. Accepts the app instead of the namespace. */
export function actionLookup(store: Store, catalogue: () => Catalogue): ActionLookup {
  const owners = new Cached<readonly StoredTool[]>(store.changes, { clearOn: ['tools'], limit: 10_000 })

  const candidates = (projectId: string, { namespace, name }: Reference) =>
    owners.find(`${projectId} ${namespace} ${name}`, async () => {
      const tools = await store.tools.offering(projectId, { namespace, name })
      const isExact = (tool: StoredTool) => (tool.many_actions ? tool.name : appOf(tool)) === namespace
      return tools.sort((a, b) => Number(isExact(b)) - Number(isExact(a)))
    })

  return {
    async findOwner(projectId, id) {
      const [tool] = await candidates(projectId, referenceOf(id))
      return tool && { toolId: tool.id, type: tool.type, config: tool.config, level: tool.level }
    },

    async findAction(projectId, id) {
      const reference = referenceOf(id)
      for (const { id: toolId } of await candidates(projectId, reference)) {
        const entry = catalogue().peek(toolId) ?? (await catalogue().find(toolId))
        const prepared = entry?.actions.get(reference.name)
        if (entry && prepared) return known(entry, prepared)
      }
      return undefined
    },

    async knownIds(projectId) {
      const tools = await store.tools.names(projectId)
      const local = await Promise.all(
        tools.slice(0, maxSuggested).map((tool) => catalogue().peek(tool.id) ?? (tool.many_actions ? undefined : tool)),
      )
      return local.flatMap((one) => {
        if (!one) return []
        return 'actions' in one
          ? [...one.actions.values()].map(({ action }) => action.id)
          : [`${appOf(one)}:${one.name}`]
      })
    },
  }
}

interface Reference {
  readonly namespace: string
  readonly name: string
}

const referenceOf = (id: string): Reference => {
  const at = id.indexOf(':')
  return { namespace: id.slice(0, at), name: id.slice(at + 1) }
}

const known = ({ tool, type }: ToolEntry, { action, publicSchema }: PreparedAction): KnownAction => ({
  toolId: tool.id,
  name: action.name,
  schema: publicSchema,
  outputSchema: action.outputSchema ?? outputSchemaIn(action.definition),
  level: action.level,
  idempotent: action.idempotent,
  destructive: action.destructive,
  readOnly: action.readOnly === true,
  resumable: action.resumable === true,
  callable: type.execute !== undefined,
})

/** MCP servers declare it in their definition. */
const outputSchemaIn = (definition: PreparedAction['action']['definition']) => {
  const schema = definition?.outputSchema
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) ? schema : undefined
}
