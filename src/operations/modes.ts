import { z } from 'zod'
import { Mode, ModeFields } from '../model/mode.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { acts, creates, lists, type RecordKind } from './operation.ts'

export const mode: RecordKind<Mode> = {
  name: 'mode',
  find: (id, store) => store.modes.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'mode', id }),
}

const { slug, name, description, levels, servers, tools, groups, sign_in_within_seconds } = ModeFields

export const createMode = creates({
  name: 'create-mode',
  permission: 'modes:CreateMode',
  route: 'POST /modes',
  summary: 'Create a mode: which levels, servers, tools and groups of actions calls can use in it',
  example: { slug: 'support', name: 'Support', levels: ['restricted'], tools: ['crm:*'] },
  kind: 'mode',
  input: z.strictObject({
    project_id: Id.optional(),
    slug,
    name,
    description: description.default(null),
    levels: levels.default([]),
    servers: servers.default(null),
    tools: tools.default(null),
    groups: groups.default(null),
    sign_in_within_seconds: sign_in_within_seconds.default(null),
  }),
  output: Mode,
  run: ({ project_id: _, ...draft }, { store, projectId }) => store.modes.create(projectId, draft),
})

export const listModes = lists({
  name: 'list-modes',
  permission: 'modes:ListModes',
  route: 'GET /modes',
  summary: 'List modes',
  of: mode,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(Mode),
  run: (input, { store, visible }) => store.modes.list(input, visible),
})

export const getMode = acts({
  name: 'get-mode',
  permission: 'modes:GetMode',
  route: 'GET /modes/{mode_id}',
  summary: 'Get a mode',
  on: mode,
  input: z.strictObject({ id: Id }),
  output: Mode,
  run: async (_, { target }) => target,
})

export const updateMode = acts({
  name: 'update-mode',
  permission: 'modes:UpdateMode',
  route: 'PATCH /modes/{mode_id}',
  summary: 'Change a mode; the next calls follow it',
  example: { levels: ['restricted', 'administrative'] },
  on: mode,
  input: z.strictObject({
    id: Id,
    name: name.optional(),
    description: description.optional(),
    levels: levels.optional(),
    servers: servers.optional(),
    tools: tools.optional(),
    groups: groups.optional(),
    sign_in_within_seconds: sign_in_within_seconds.optional(),
  }),
  output: Mode,
  async run({ id, ...change }, { store, target }) {
    const sent = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    return (await store.modes.update(id, sent)) ?? target
  },
})

export const deleteMode = acts({
  name: 'delete-mode',
  permission: 'modes:DeleteMode',
  route: 'DELETE /modes/{mode_id}',
  summary: 'Delete a mode; keys, people, agents and sessions that use it cannot call tools until they have another',
  status: 204,
  on: mode,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.modes.remove(id)
    return null
  },
})
