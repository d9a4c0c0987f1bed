import { z } from 'zod'
import { lineOf } from '../access/key-line.ts'
import { hashKey } from '../access/keys.ts'
import { keepAnAdmin } from '../access/last-admin.ts'
import { ApiKey, ApiKeyFields, NewApiKeyAnswer } from '../model/api-key.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { newSecretKey } from '../model/ids.ts'
import { Id, iso, Paging, pageOf } from '../model/page.ts'
import { actingAs } from './act-as.ts'
import { requireDenials, requireGrantable } from './granting.ts'
import { requireModes } from './granting-modes.ts'
import { acts, type Context, lists, operation, type RecordKind, requireAllowed } from './operation.ts'

export const apiKey: RecordKind<ApiKey> = {
  name: 'api-key',
  find: (id, store) => store.apiKeys.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'api-key', id }),
}

const { name, access_policy_ids, rate_limit, end_user_id, modes, expires_at } = ApiKeyFields

/** The maximum depth of keys that create other keys. */
const maxLineDepth = 20

export const createApiKey = operation({
  name: 'create-api-key',
  permission: 'api-keys:CreateApiKey',
  route: 'POST /api-keys',
  summary: 'Create an API key; the key is only returned here',
  example: { name: 'laptop', access_policy_ids: ['pol_administrator'] },
  status: 201,
  secretFields: ['key'],
  input: z.strictObject({
    project_id: Id.nullish().describe('The project to bind it to; by default, it can access all projects'),
    name,
    access_policy_ids: access_policy_ids.default([]).describe('Its access policies; without any, it can do nothing'),
    rate_limit: rate_limit.default(null),
    end_user_id: end_user_id
      .default(null)
      .describe('The end user whose connections its calls use. It cannot be changed later'),
    modes: modes.default([]),
    expires_at: expires_at.default(null),
  }),
  output: NewApiKeyAnswer,
  async run({ project_id, ...key }, context) {
    const { principal, store } = context
    const projectId = project_id ?? principal.projectId
    requireAllowed(principal, 'api-keys:CreateApiKey', { projectId, kind: 'api-key', id: '*' })
    if (projectId && !(await store.projects.find(projectId))) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'project', id: projectId })
    }
    requireDenials(key.access_policy_ids, context)
    await requireGrantable(key.access_policy_ids, projectId, context)
    const limits = {
      rate_limit: key.rate_limit ?? principal.rateLimit,
      expires_at: key.expires_at === null ? principal.expiresAt : inFuture(key.expires_at),
    }
    requireNoLooser(limits, context)
    await requireModes(key.modes, projectId, context)
    // A key of an end user cannot create keys of others.
    const { endUserId } = actingAs(context, key.end_user_id, projectId)
    const line = await lineOf([principal.id], store)
    const ancestors = [...(line.get(principal.id) ?? []), principal.id]
    if (ancestors.length > maxLineDepth) {
      const message = `your key was created through ${maxLineDepth} levels of keys, which is the limit: use one of the keys above it`
      throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: '', message }] })
    }
    const value = newSecretKey()
    const created = await store.apiKeys.create({
      ...key,
      ...limits,
      ancestors,
      end_user_id: endUserId,
      project_id: projectId,
      key_hash: hashKey(value),
      key_prefix: value.slice(0, 8),
    })
    return { ...created, key: value }
  },
})

export const listApiKeys = lists({
  name: 'list-api-keys',
  permission: 'api-keys:ListApiKeys',
  route: 'GET /api-keys',
  summary: 'List API keys, without the keys themselves',
  of: apiKey,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(ApiKey),
  run: (input, { store, visible }) => store.apiKeys.list(input, visible),
})

export const CurrentApiKey = ApiKey.extend({
  project: z
    .object({ id: z.string(), name: z.string() })
    .nullable()
    .describe('Null if the key can access every project'),
  access_policies: z.array(z.object({ id: z.string(), name: z.string() })),
  platform_version: z.string(),
})

export const getCurrentApiKey = operation({
  name: 'get-current-api-key',
  permission: 'api-keys:GetApiKey',
  route: 'GET /api-keys/current',
  summary: 'Get the API key you are using and its permissions; no permission required',
  input: z.strictObject({}),
  output: CurrentApiKey,
  async run(_, { store, principal, version }) {
    const key = await store.apiKeys.find(principal.id)
    if (!key) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'api-key', id: 'current' })
    const project = key.project_id === null ? undefined : await store.projects.find(key.project_id)
    const policies = await store.accessPolicies.findMany(key.access_policy_ids)
    return {
      ...key,
      project: project ? { id: project.id, name: project.name } : null,
      access_policies: policies.map(({ id, name }) => ({ id, name })),
      platform_version: version,
    }
  },
})

export const getApiKey = acts({
  name: 'get-api-key',
  permission: 'api-keys:GetApiKey',
  route: 'GET /api-keys/{api_key_id}',
  summary: 'Get an API key, without the key itself',
  on: apiKey,
  input: z.strictObject({ id: Id }),
  output: ApiKey,
  run: async (_, { target }) => target,
})

export const updateApiKey = acts({
  name: 'update-api-key',
  permission: 'api-keys:UpdateApiKey',
  route: 'PATCH /api-keys/{api_key_id}',
  summary: 'Change an API key',
  example: { rate_limit: 600 },
  on: apiKey,
  input: z.strictObject({
    id: Id,
    name: name.optional(),
    access_policy_ids: access_policy_ids.optional(),
    rate_limit: rate_limit.optional(),
    modes: modes.optional(),
    expires_at: expires_at.optional(),
  }),
  output: ApiKey,
  async run({ id, expires_at: expiry, ...change }, context) {
    const { store, target } = context
    if (change.access_policy_ids) {
      requireDenials(change.access_policy_ids, context)
      const added = change.access_policy_ids.filter((policy) => !target.access_policy_ids.includes(policy))
      await requireGrantable(added, target.project_id, context)
    }
    if (change.modes) await requireModes(change.modes, target.project_id, context, target.modes)
    const expires = expiry === undefined ? {} : { expires_at: expiry === null ? null : inFuture(expiry) }
    requireNoLooser({ ...change, ...expires }, context)
    return (await store.apiKeys.update(id, { ...change, ...expires }, keepAnAdmin)) ?? target
  },
})

export const deleteApiKey = acts({
  name: 'delete-api-key',
  permission: 'api-keys:DeleteApiKey',
  route: 'DELETE /api-keys/{api_key_id}',
  summary: 'Revoke an API key immediately; the last admin key cannot be revoked',
  status: 204,
  on: apiKey,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.apiKeys.remove(id, keepAnAdmin)
    return null
  },
})

function inFuture(time: string): number {
  const milliseconds = Date.parse(time)
  if (milliseconds > Date.now()) return milliseconds
  throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'expires_at', message: 'must be in the future' }] })
}

/** A limited key cannot grant more than its own limits, not even to itself. Otherwise it could escape them. */
function requireNoLooser(
  given: { rate_limit?: number | null | undefined; expires_at?: number | null },
  { principal: { rateLimit, expiresAt } }: Context,
): void {
  const exceeds = (value: number | null | undefined, own: number | null) =>
    own !== null && value !== undefined && (value === null || value > own)
  const errors: Fault[] = []
  if (exceeds(given.rate_limit, rateLimit)) {
    errors.push({ path: 'rate_limit', message: `must be at most ${rateLimit}, which is the limit of your own key` })
  }
  if (exceeds(given.expires_at, expiresAt)) {
    const until = iso(Number(expiresAt))
    errors.push({ path: 'expires_at', message: `must not be later than ${until}, when your own key expires` })
  }
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
}
