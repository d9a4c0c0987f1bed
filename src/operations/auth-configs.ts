import { z } from 'zod'
import type { AuthConfigRow } from '../db/tables.ts'
import { AuthConfig, ConnectionSecrets, ConnectionSettings, ConnectionType, target } from '../model/connection.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { sealedAt } from '../store/sealed.ts'
import { requireIssuer, settingsFor, targetIn } from './connection-input.ts'
import { acts, type Context, creates, lists, type RecordKind } from './operation.ts'

export const authConfig: RecordKind<AuthConfig> = {
  name: 'auth-config',
  find: (id, store) => store.authConfigs.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'auth-config', id }),
}

const { username: _, ...settings } = ConnectionSettings
const { client_secret, idp_client_secret } = ConnectionSecrets
const clientSecrets = { client_secret, idp_client_secret }

export const createAuthConfig = creates({
  name: 'create-auth-config',
  permission: 'auth-configs:CreateAuthConfig',
  route: 'POST /auth-configs',
  summary: 'Say how accounts of an app are connected: what a user enters, or which OAuth client is used',
  example: { app: 'crm', type: 'api_key', header: 'x-crm-key' },
  secretFields: Object.keys(clientSecrets),
  kind: 'auth-config',
  input: z.strictObject({ project_id: Id.optional(), ...target, type: ConnectionType, ...settings, ...clientSecrets }),
  output: AuthConfig,
  async run({ type, client_secret: secret, idp_client_secret: idpSecret, ...input }, context) {
    const { store, projectId } = context
    const { settings: given, errors } = settingsFor(type, input)
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    requireIssuer(given.issuer, projectId, context)
    const id = newId('auc')
    return store.authConfigs.create({
      ...{ id, project_id: projectId, target: await targetIn(input, context), type },
      settings: JSON.stringify(given),
      ...{ client_secret: null, idp_client_secret: null },
      ...(await sealed(id, secret, idpSecret, context)),
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
  secretFields: Object.keys(clientSecrets),
  on: authConfig,
  input: z.strictObject({ id: Id, ...settings, ...clientSecrets }),
  output: AuthConfig,
  async run({ id, client_secret: secret, idp_client_secret: idpSecret, ...input }, context) {
    const { store, target: before } = context
    const row = await store.authConfigs.findRow(id)
    const sent = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    const { settings: next, errors } = settingsFor(before.type, { ...JSON.parse(row?.settings ?? '{}'), ...sent })
    const moved = row ? movedSecrets(row, next, { client_secret: secret, idp_client_secret: idpSecret }) : []
    if (errors.length + moved.length > 0)
      throw new PlatformError('VALIDATION_FAILED', { errors: [...errors, ...moved] })
    requireIssuer(input.issuer, before.project_id, context)
    const secrets = await sealed(id, secret, idpSecret, context)
    return (await store.authConfigs.update(id, { settings: JSON.stringify(next), ...secrets })) ?? before
  },
})

/** Whoever changes where a secret is sent must know it, or they could have it sent to themselves. */
function movedSecrets(
  row: AuthConfigRow,
  next: ConnectionSettings,
  sent: Readonly<Record<keyof typeof destinations, string | undefined>>,
): Fault[] {
  const before: ConnectionSettings = JSON.parse(row.settings)
  const names = Object.keys(destinations) as (keyof typeof destinations)[]
  return names.flatMap((name) => {
    const changed = destinations[name].find((field) => before[field] !== next[field])
    if (changed === undefined || row[name] === null || sent[name] !== undefined) return []
    return [{ path: name, message: `must be sent again, because ${changed} changes where it goes` }]
  })
}

const destinations = {
  client_secret: ['issuer', 'token_endpoint', 'subdomain'],
  idp_client_secret: ['idp_issuer', 'idp_token_endpoint'],
} as const

async function sealed(id: string, secret: string | undefined, idpSecret: string | undefined, { vault }: Context) {
  return {
    ...(secret !== undefined && { client_secret: await vault.seal(secret, sealedAt.authConfig(id)) }),
    ...(idpSecret !== undefined && {
      idp_client_secret: await vault.seal(idpSecret, sealedAt.identityProviderSecret(id)),
    }),
  }
}

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
