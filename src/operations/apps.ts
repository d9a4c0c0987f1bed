import { z } from 'zod'
import { appOf } from '../catalogue/app.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import { Level } from '../model/tool.ts'
import type { Store } from '../store/store.ts'
import type { StoredTool } from '../store/tools.ts'
import { CredentialNeed } from '../tools/tool-type.ts'
import { type Context, lists } from './operation.ts'
import { Health, tool } from './tools.ts'

/** A view of the tools of an app. An app is nothing that is stored: it is there as long as a tool belongs to it. */
export const App = z.object({
  slug: z.string(),
  project_id: z.string(),
  tools: z.array(z.object({ id: z.string(), name: z.string(), type: z.string() })),
  action_count: z.int().nullable().describe('Null if another system has the actions and was not asked yet'),
  auth: z.array(CredentialNeed).describe('The credentials that its tools need, as far as their types know'),
  health: z
    .array(Health.extend({ tool_id: z.string() }))
    .describe('The state of the systems behind its tools, as of the last use'),
})

export const AppAction = z.object({
  id: z.string(),
  name: z.string(),
  tool_id: z.string(),
  title: z.string().nullable(),
  level: Level,
  read_only: z.boolean().describe('Whether a call can be repeated without further effect'),
  withheld: z.boolean(),
})

export const AppDetail = App.extend({ actions: z.array(AppAction) })

export const listApps = lists({
  name: 'list-apps',
  permission: 'tools:ListTools',
  route: 'GET /apps',
  summary: 'List apps: what each offers, its credentials and its health',
  of: tool,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(App),
  async run({ project_id, limit, offset }, { visible, ...context }) {
    const groups = [...(await appsOf(project_id, context.store, visible)).values()]
    const data = await Promise.all(groups.slice(offset, offset + limit).map((tools) => describe(tools, context)))
    return { data, total: groups.length, limit, offset }
  },
})

export const getApp = lists({
  name: 'get-app',
  permission: 'tools:ListTools',
  route: 'GET /apps/{app}',
  summary: 'Get an app with its actions',
  of: tool,
  input: z.strictObject({ id: Text.max(200), project_id: Id.optional() }),
  output: AppDetail,
  async run({ id, project_id }, { visible, ...context }) {
    const groups = await appsOf(project_id, context.store, visible)
    const tools = [...groups.values()].find(([first]) => first && appOf(first) === id)
    if (!tools) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'app', id })
    const actions = await Promise.all(tools.map((one) => actionsOf(one, context.catalogue)))
    return { ...(await describe(tools, context)), actions: actions.flat() }
  },
})

type Visible = Parameters<Store['tools']['list']>[1]
const pageSize = 500

/** The visible tools, by project and app. */
async function appsOf(project: string | undefined, store: Store, visible: Visible): Promise<Map<string, StoredTool[]>> {
  const tools: StoredTool[] = []
  const filter = project === undefined ? {} : { project_id: project }
  for (let offset = 0; ; offset += pageSize) {
    const page = await store.tools.list({ ...filter, limit: pageSize, offset }, visible)
    tools.push(...page.data)
    if (tools.length >= page.total || page.data.length === 0) break
  }
  const groups = Map.groupBy(tools, (one) => `${appOf(one)} ${one.project_id}`)
  return new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function describe(tools: readonly StoredTool[], context: Pick<Context, 'catalogue' | 'toolDeps'>) {
  const { catalogue } = context
  const [first] = tools as [StoredTool]
  const entries = await Promise.all(tools.map((one) => catalogue.findLocal(one.id).catch(() => undefined)))
  const auth = await Promise.all(tools.map((one) => context.catalogue.needsOf(one)))
  const health = await Promise.all(tools.map((one) => healthOf(one, context)))
  return {
    slug: appOf(first),
    project_id: first.project_id,
    tools: tools.map(({ id, name, type }) => ({ id, name, type })),
    action_count: entries.every((entry) => entry)
      ? entries.reduce((sum, entry) => sum + (entry?.actions.size ?? 0), 0)
      : null,
    auth: auth.flat(),
    health: health.flat(),
  }
}

async function healthOf(record: StoredTool, { catalogue, toolDeps }: Pick<Context, 'catalogue' | 'toolDeps'>) {
  const type = catalogue.typeOf(record)
  if (!type.health) return []
  const { tool, filled } = await catalogue.open(record)
  return filled.fault ? [] : [{ tool_id: record.id, ...(await type.health(tool, toolDeps, filled)) }]
}

async function actionsOf(record: StoredTool, catalogue: Catalogue): Promise<z.infer<typeof AppAction>[]> {
  const entry = await catalogue.find(record.id).catch(() => undefined)
  return [...(entry?.actions.values() ?? [])].map(({ action, withheld }) => ({
    id: action.id,
    name: action.name,
    tool_id: record.id,
    title: typeof action.definition?.title === 'string' ? action.definition.title : null,
    level: action.level,
    read_only: action.idempotent,
    withheld,
  }))
}
