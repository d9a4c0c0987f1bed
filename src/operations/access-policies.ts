import { z } from 'zod'
import { keepAnAdmin } from '../access/last-admin.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { AccessPolicy, AccessPolicyFields, type PolicyDocument } from '../model/access-policy.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { acts, lists, operation, type RecordKind, requireAllowed } from './operation.ts'

export const accessPolicy: RecordKind<AccessPolicy> = {
  name: 'access-policy',
  find: (id, store) => store.accessPolicies.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'access-policy', id }),
}

const { name, description, document } = AccessPolicyFields

export const createAccessPolicy = operation({
  name: 'create-access-policy',
  permission: 'access-policies:CreateAccessPolicy',
  route: 'POST /access-policies',
  summary: 'Create an access policy',
  example: {
    name: 'Call tools',
    document: { statement: [{ effect: 'Allow', action: ['tools:CallTool'], resource: ['*'] }] },
  },
  status: 201,
  input: z.strictObject({
    project_id: Id.nullish().describe('The project it belongs to; by default, keys of every project can use it'),
    name,
    description: description.default(null),
    document,
  }),
  output: AccessPolicy,
  async run({ project_id, ...policy }, { principal, store, permissions }) {
    const projectId = project_id ?? principal.projectId
    requireAllowed(principal, 'access-policies:CreateAccessPolicy', { projectId, kind: 'access-policy', id: '*' })
    if (projectId && !(await store.projects.find(projectId))) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'project', id: projectId })
    }
    requireKnownActions(policy.document, permissions)
    return store.accessPolicies.create({ ...policy, project_id: projectId })
  },
})

export const listAccessPolicies = lists({
  name: 'list-access-policies',
  permission: 'access-policies:ListAccessPolicies',
  route: 'GET /access-policies',
  summary: 'List access policies',
  of: accessPolicy,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(AccessPolicy),
  run: (input, { store, visible }) => store.accessPolicies.list(input, visible),
})

export const getAccessPolicy = acts({
  name: 'get-access-policy',
  permission: 'access-policies:GetAccessPolicy',
  route: 'GET /access-policies/{access_policy_id}',
  summary: 'Get an access policy',
  on: accessPolicy,
  input: z.strictObject({ id: Id }),
  output: AccessPolicy,
  run: async (_, { target }) => target,
})

export const updateAccessPolicy = acts({
  name: 'update-access-policy',
  permission: 'access-policies:UpdateAccessPolicy',
  route: 'PATCH /access-policies/{access_policy_id}',
  summary: 'Change an access policy; this takes effect immediately for all its keys',
  example: { description: 'For keys that only call tools' },
  on: accessPolicy,
  input: z.strictObject({
    id: Id,
    name: name.optional(),
    description: description.optional(),
    document: document.optional(),
  }),
  output: AccessPolicy,
  async run({ id, ...change }, { store, target, permissions }) {
    if (change.document) requireKnownActions(change.document, permissions)
    return (await store.accessPolicies.update(id, change, keepAnAdmin)) ?? target
  },
})

export const deleteAccessPolicy = acts({
  name: 'delete-access-policy',
  permission: 'access-policies:DeleteAccessPolicy',
  route: 'DELETE /access-policies/{access_policy_id}',
  summary: 'Delete an access policy that no key uses',
  status: 204,
  on: accessPolicy,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    const dependents = await store.accessPolicies.holders(id)
    if (dependents.length > 0) throw new PlatformError('HAS_DEPENDENTS', { kind: 'access policy', id, dependents })
    await store.accessPolicies.remove(id)
    return null
  },
})

/** A typo in a Deny statement would grant what it was meant to block, so unknown action names are rejected. */
function requireKnownActions({ statement }: PolicyDocument, permissions: ReadonlySet<string>): void {
  const modules = new Set([...permissions].map((permission) => permission.split(':')[0]))
  const errors = statement.flatMap(({ action }, index) =>
    action.flatMap((pattern, position) => {
      const [module, what] = pattern.split(':')
      if (pattern === '*' || permissions.has(pattern) || (what === '*' && modules.has(module))) return []
      return [
        {
          path: `document.statement[${index}].action[${position}]`,
          message: `"${pattern}" is not an action${orDidYouMean(pattern, [...permissions])}`,
        },
      ]
    }),
  )
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
}
