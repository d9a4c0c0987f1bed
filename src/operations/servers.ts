import { z } from 'zod'
import { mayEver } from '../access/evaluate.ts'
import { findMissing } from '../catalogue/missing.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { openAccess, Server, ServerFields } from '../model/server.ts'
import { acts, type Context, creates, lists, type RecordKind } from './operation.ts'

export const server: RecordKind<Server> = {
  name: 'server',
  find: (id, store) => store.servers.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'server', id }),
}

const { slug, name, ...rest } = ServerFields
const optional = z.object(rest).partial().shape

export const createServer = creates({
  name: 'create-server',
  permission: 'servers:CreateServer',
  route: 'POST /servers',
  summary: 'Create an MCP server',
  example: { slug: 'support', apps: [{ slug: 'tools' }] },
  kind: 'server',
  input: z.strictObject({ project_id: Id.optional(), slug, name: name.optional(), ...optional }),
  output: Server,
  async run({ project_id: _, ...input }, context) {
    const { store, projectId } = context
    await requireThere(input, undefined, context)
    return store.servers.create(projectId, {
      name: input.slug,
      description: null,
      enabled: true,
      agent_mode: false,
      code_mode: false,
      retrieve_skill: false,
      pass_prompts: true,
      pass_resources: true,
      tool_names: 'generated',
      apps: null,
      skill_ids: null,
      result_limit: null,
      resolve_tokens: null,
      auto_approve: null,
      approval_timeout_seconds: null,
      access: openAccess,
      ...given(input),
      slug: input.slug,
    })
  },
})

export const listServers = lists({
  name: 'list-servers',
  permission: 'servers:ListServers',
  route: 'GET /servers',
  summary: 'List MCP servers',
  of: server,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(Server),
  run: (input, { store, visible }) => store.servers.list(input, visible),
})

export const getServer = acts({
  name: 'get-server',
  permission: 'servers:GetServer',
  route: 'GET /servers/{server_id}',
  summary: 'Get an MCP server, by its id or slug',
  on: server,
  input: z.strictObject({ id: Id }),
  output: Server,
  run: async (_, { target }) => target,
})

export const updateServer = acts({
  name: 'update-server',
  permission: 'servers:UpdateServer',
  route: 'PATCH /servers/{server_id}',
  summary: 'Change an MCP server',
  example: { agent_mode: true },
  on: server,
  input: z.strictObject({ id: Id, slug: slug.optional(), name: name.optional(), ...optional }),
  output: Server,
  async run({ id: _, ...change }, context) {
    const { store, target } = context
    await requireThere(change, target, { ...context, projectId: target.project_id })
    return (await store.servers.update(target.id, { ...target, ...given(change) })) ?? target
  },
})

export const deleteServer = acts({
  name: 'delete-server',
  permission: 'servers:DeleteServer',
  route: 'DELETE /servers/{server_id}',
  summary: 'Delete an MCP server',
  status: 204,
  on: server,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run(_, { store, target }) {
    await store.servers.remove(target.id)
    return null
  },
})

/** Newly listed apps and skills must exist. Those that were already listed may have been deleted since. */
async function requireThere(
  { apps, skill_ids: skillIds }: Partial<Pick<Server, 'apps' | 'skill_ids'>>,
  before: Server | undefined,
  { store, catalogue, principal, projectId }: Context & { readonly projectId: string },
): Promise<void> {
  const mayKnow = mayEver(principal, 'tools:ListTools')
  const faults = apps
    ? await findMissing(apps, before?.apps ?? [], projectId, { store, catalogue, maySuggest: mayKnow })
    : []
  for (const [index, id] of skillIds?.entries() ?? []) {
    const isThere = before?.skill_ids?.includes(id) || (await store.skills.find(id))?.project_id === projectId
    if (!isThere) faults.push({ path: `skill_ids.${index}`, message: `the project has no skill "${id}"` })
  }
  if (faults.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors: faults })
}

/** Drops undefined fields. */
const given = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
