import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { invitationUrl, newInvitation } from '../access/invitations.ts'
import { lineOf } from '../access/key-line.ts'
import { keepAnAdmin } from '../access/last-admin.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { Email, InvitedUser, Role, roles, User, UserFields } from '../model/user.ts'
import { requireDenials, requireGrantable, requireUnlimited } from './granting.ts'
import { requireModes } from './granting-modes.ts'
import { acts, type Context, lists, operation, type RecordKind, requireAllowed } from './operation.ts'

export const user: RecordKind<User> = {
  name: 'user',
  find: (id, store) => store.users.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'user', id }),
}

const { name, access_policy_ids, modes } = UserFields
const access = {
  role: Role.optional(),
  access_policy_ids: access_policy_ids.optional().describe('Instead of a role: any access policies'),
}

export const inviteUser = operation({
  name: 'invite-user',
  permission: 'users:InviteUser',
  route: 'POST /users',
  summary: 'Invite a person to the dashboard; the link is only returned here',
  example: { email: 'rita@example.com', name: 'Rita', role: 'reviewer' },
  status: 201,
  secretFields: ['invitation_url'],
  input: z.strictObject({
    project_id: Id.nullish().describe('The only project that they can access; by default, they can access all'),
    email: Email,
    name: name.optional().describe('By default, the first part of the email address'),
    ...access,
    modes: modes.default([]),
  }),
  output: InvitedUser,
  async run({ email, ...input }, context) {
    const { principal, store } = context
    const projectId = input.project_id ?? principal.projectId
    requireAllowed(principal, 'users:InviteUser', { projectId, kind: 'user', id: '*' })
    if (projectId && !(await store.projects.find(projectId))) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'project', id: projectId })
    }
    const policies = policiesOf(input)
    if (!policies) throw invalid('role', 'is missing: choose a role, or send access_policy_ids')
    await requireInvitable(policies, projectId, context)
    await requireModes(input.modes, projectId, context)
    const { token, ...invitation } = newInvitation()
    const invited = await store.users.create({
      ...{
        email,
        modes: input.modes,
        project_id: projectId,
        access_policy_ids: policies,
        status: 'invited',
        ...invitation,
      },
      name: input.name ?? (email.split('@')[0] as string),
      created_by: principal.id,
      ancestors: await whoMaySignInInstead(projectId, context),
    })
    return { ...invited, invitation_url: invitationUrl(context.publicUrl(), token) }
  },
})

export const reinviteUser = acts({
  name: 'reinvite-user',
  permission: 'users:InviteUser',
  route: 'POST /users/{user_id}/invitation',
  summary: 'Create a new invitation link, also to reset a password; an earlier link stops working',
  example: {},
  status: 201,
  secretFields: ['invitation_url'],
  on: user,
  input: z.strictObject({ id: Id }),
  output: InvitedUser,
  async run({ id }, context) {
    const { store, target } = context
    if (target.status === 'disabled') throw invalid('status', 'is "disabled": set it to "active" first')
    // Anyone with the link can sign in as this person.
    await requireInvitable(target.access_policy_ids, target.project_id, context)
    await requireModes(target.modes, target.project_id, context)
    const { token, ...invitation } = newInvitation()
    const ancestors = await whoMaySignInInstead(target.project_id, context)
    const invited = (await store.users.invite(id, invitation, ancestors)) ?? target
    return { ...invited, invitation_url: invitationUrl(context.publicUrl(), token) }
  },
})

export const listUsers = lists({
  name: 'list-users',
  permission: 'users:ListUsers',
  route: 'GET /users',
  summary: 'List people',
  of: user,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(User),
  run: (input, { store, visible }) => store.users.list(input, visible),
})

export const CurrentUser = User.extend({
  project: z.object({ id: z.string(), name: z.string() }).nullable(),
  access_policies: z.array(z.object({ id: z.string(), name: z.string() })),
})

export const getCurrentUser = operation({
  name: 'get-current-user',
  permission: 'users:GetUser',
  route: 'GET /users/current',
  summary: 'Get the person you are signed in as; no permission required',
  input: z.strictObject({}),
  output: CurrentUser,
  async run(_, { store, principal }) {
    const found = await store.users.find(principal.id)
    if (!found) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'user', id: 'current' })
    const project = found.project_id === null ? undefined : await store.projects.find(found.project_id)
    const policies = await store.accessPolicies.findMany(found.access_policy_ids)
    return {
      ...found,
      project: project ? { id: project.id, name: project.name } : null,
      access_policies: policies.map(({ id, name }) => ({ id, name })),
    }
  },
})

export const getUser = acts({
  name: 'get-user',
  permission: 'users:GetUser',
  route: 'GET /users/{user_id}',
  summary: 'Get a person',
  on: user,
  input: z.strictObject({ id: Id }),
  output: User,
  run: async (_, { target }) => target,
})

export const updateUser = acts({
  name: 'update-user',
  permission: 'users:UpdateUser',
  route: 'PATCH /users/{user_id}',
  summary: 'Change a person’s name, role or status; disabling signs them out immediately',
  example: { role: 'editor' },
  on: user,
  input: z.strictObject({
    id: Id,
    name: name.optional(),
    ...access,
    modes: modes.optional(),
    status: z.enum(['active', 'disabled']).optional().describe('disabled: cannot sign in, and is signed out'),
  }),
  output: User,
  async run({ id, name, status, modes: given, ...input }, context) {
    const { store, target } = context
    const policies = policiesOf(input)
    if (policies) {
      requireDenials(policies, context)
      const added = policies.filter((policy) => !target.access_policy_ids.includes(policy))
      await requireGrantable(added, target.project_id, context)
    }
    if (given) await requireModes(given, target.project_id, context, target.modes)
    const next = status === 'active' && !target.has_password && !target.sso_issuer ? 'invited' : status
    const change = {
      ...(name && { name }),
      ...(policies && { access_policy_ids: policies }),
      ...(given && { modes: given }),
    }
    const changed = await store.users.update(id, { ...change, ...(next && { status: next }) }, keepAnAdmin)
    if (status === 'disabled') await endSessions(id, context)
    return changed ?? target
  },
})

export const signOutUser = acts({
  name: 'sign-out-user',
  permission: 'users:UpdateUser',
  route: 'POST /users/{user_id}/sign-out',
  summary: 'End all sessions of a person',
  example: {},
  status: 204,
  on: user,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, context) {
    await endSessions(id, context)
    return null
  },
})

export const deleteUser = acts({
  name: 'delete-user',
  permission: 'users:DeleteUser',
  route: 'DELETE /users/{user_id}',
  summary: 'Delete a person and sign them out; API keys that they created keep working',
  status: 204,
  on: user,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.users.remove(id, keepAnAdmin)
    await store.webSessions.removeOf(id)
    return null
  },
})

async function endSessions(id: string, { store }: Context): Promise<void> {
  await store.users.signOut(id)
  await store.webSessions.removeOf(id)
}

/** The access policies of a role, or those that were sent. Undefined if neither was sent. */
function policiesOf(input: {
  readonly role?: Role | undefined
  readonly access_policy_ids?: string[] | undefined
}): string[] | undefined {
  if (input.role === undefined) return input.access_policy_ids
  if (input.access_policy_ids) throw invalid('access_policy_ids', 'cannot be combined with role: send one of them')
  return [roles[input.role]]
}

/** Whoever creates the link can use it, so it must not give more access than they have. */
async function requireInvitable(
  policies: readonly string[],
  projectId: string | null,
  context: Context,
): Promise<void> {
  requireUnlimited(context, 'users:InviteUser')
  requireDenials(policies, context)
  await requireGrantable(policies, projectId, context)
}

/**
 * The caller sees the link and could accept it, so for approvals both count as one person. Administrators do not: they
 * invite everyone, and can turn approvals off anyway.
 */
async function whoMaySignInInstead(projectId: string | null, { principal, store }: Context): Promise<string[]> {
  const resource = { projectId, kind: 'access-policy', id: '*' }
  if (evaluate(principal, 'access-policies:AttachAccessPolicy', resource).allowed) return []
  const line = await lineOf([principal.id], store)
  return [...(line.get(principal.id) ?? []), principal.id]
}

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
