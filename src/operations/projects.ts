import { z } from 'zod'
import { PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { Project, ProjectFields } from '../model/project.ts'
import { acts, lists, operation, type RecordKind, requireAllowed } from './operation.ts'

const project: RecordKind<Project> = {
  name: 'project',
  find: (id, store) => store.projects.find(id),
  resource: ({ id }) => ({ projectId: id, kind: 'project', id }),
}

const { name, ...rest } = ProjectFields
const optional = z.object(rest).partial().shape

const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>
  }

export const createProject = operation({
  name: 'create-project',
  permission: 'projects:CreateProject',
  route: 'POST /projects',
  summary: 'Create a project',
  example: { name: 'Support' },
  status: 201,
  input: z.strictObject({ name, ...optional }),
  output: Project,
  async run({ name, ...draft }, { principal, store }) {
    requireAllowed(principal, 'projects:CreateProject', { projectId: null, kind: 'project', id: '*' })
    return store.projects.create(name, given(draft))
  },
})

export const listProjects = lists({
  name: 'list-projects',
  permission: 'projects:ListProjects',
  route: 'GET /projects',
  summary: 'List projects',
  of: project,
  input: z.strictObject(Paging),
  output: pageOf(Project),
  run: (input, { store, principal, visible }) =>
    store.projects.list(
      input,
      principal.projectId ? (one) => one.id === principal.projectId && (!visible || visible(one)) : visible,
    ),
})

export const getProject = acts({
  name: 'get-project',
  permission: 'projects:GetProject',
  route: 'GET /projects/{project_id}',
  summary: 'Get a project',
  on: project,
  input: z.strictObject({ id: Id }),
  output: Project,
  run: async (_, { target }) => target,
})

export const updateProject = acts({
  name: 'update-project',
  permission: 'projects:UpdateProject',
  route: 'PATCH /projects/{project_id}',
  summary: 'Change a project',
  example: { name: 'Customer support' },
  on: project,
  input: z.strictObject({ id: Id, name: name.optional(), ...optional }),
  output: Project,
  async run({ id, ...change }, { store, target }) {
    return (await store.projects.update(id, { ...target, ...given(change) })) ?? target
  },
})

export const deleteProject = acts({
  name: 'delete-project',
  permission: 'projects:DeleteProject',
  route: 'DELETE /projects/{project_id}',
  summary: 'Delete an empty project',
  status: 204,
  on: project,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    const dependents = await store.projects.contents(id)
    if (dependents.length > 0) throw new PlatformError('HAS_DEPENDENTS', { kind: 'project', id, dependents })
    await store.projects.remove(id)
    return null
  },
})
