import { z } from 'zod'
import { AuthConfig, ConnectionSecrets, ConnectionSettings, ConnectionType, target } from '../model/connection.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { sealedAt } from '../store/sealed.ts'
import { requireIssuer, settingsFor, targetIn } from './connections.ts'
import { acts, creates, lists, type RecordKind } from './operation.ts'

export const authConfig: RecordKind<AuthConfig> = {
  name: 'auth-config',
  find: (id, store) => store.authConfigs.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'auth-config', id }),
}

const { username: _, ...settings } = ConnectionSettings
const { client_secret } = ConnectionSecrets

export const createAuthConfig = creates({
  name: 'create-auth-config',
  permission: 'auth-configs:CreateAuthConfig',
  route: 'POST /auth-configs',
  summary: 'Say how accounts of an app are connected: what a user enters, or which OAuth client is used',
  example: { app: 'crm', type: 'api_key', header: 'x-crm-key' },
  secretFields: ['client_secret'],
  kind: 'auth-config',
  input: z.strictObject({ project_id: Id.optional(), ...target, type: ConnectionType, ...settings, client_secret }),
  output: AuthConfig,
  async run({ type, client_secret: secret, ...input }, context) {
    const { store, vault, projectId } = context
    const { settings: given, errors } = settingsFor(type, input)
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    requireIssuer(given.issuer, projectId, context)
    const id = newId('auc')
    return store.authConfigs.create({
      ...{ id, project_id: projectId, target: await targetIn(input, context), type },
      settings: JSON.stringify(given),
      client_secret: secret === undefined ? null : await vault.seal(secret, sealedAt.authConfig(id)),
    })
  },
})

export const listAuthConfigs = lists({
  name: 'list-auth-configs',
  permission: 'auth-configs:ListAuthConfigs',
  route: 'GET /auth-configs',
  summary: 'List how accounts are connected',
  of: authConfig,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(AuthConfig),
  run: (input, { store, visible }) => store.authConfigs.list(input, visible),
})

export const getAuthConfig = acts({
  name: 'get-auth-config',
  permission: 'auth-configs:GetAuthConfig',
  route: 'GET /auth-configs/{auth_config_id}',
  summary: 'Get how accounts of an app are connected',
  on: authConfig,
  input: z.strictObject({ id: Id }),
  output: AuthConfig,
  run: async (_, { target: found }) => found,
})

export const updateAuthConfig = acts({
  name: 'update-auth-config',
  permission: 'auth-configs:UpdateAuthConfig',
  route: 'PATCH /auth-configs/{auth_config_id}',
  summary: 'Change how accounts are connected; existing connections keep their credentials',
  example: { header: 'x-api-key' },
  secretFields: ['client_secret'],
  on: authConfig,
  input: z.strictObject({ id: Id, ...settings, client_secret }),
  output: AuthConfig,
  async run({ id, client_secret: secret, ...input }, context) {
    const { store, vault, target: before } = context
    const row = await store.authConfigs.findRow(id)
    const sent = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    const { settings: next, errors } = settingsFor(before.type, { ...JSON.parse(row?.settings ?? '{}'), ...sent })
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    requireIssuer(input.issuer, before.project_id, context)
    const sealed = secret === undefined ? {} : { client_secret: await vault.seal(secret, sealedAt.authConfig(id)) }
    return (await store.authConfigs.update(id, { settings: JSON.stringify(next), ...sealed })) ?? before
  },
})

export const deleteAuthConfig = acts({
  name: 'delete-auth-config',
  permission: 'auth-configs:DeleteAuthConfig',
  route: 'DELETE /auth-configs/{auth_config_id}',
  summary: 'Delete how accounts are connected; existing connections stay',
  status: 204,
  on: authConfig,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run(_, { store, target: found }) {
    await store.authConfigs.remove(found)
    return null
  },
})
