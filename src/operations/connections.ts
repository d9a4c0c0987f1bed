import { z } from 'zod'
import { openConnection, type StoredSecrets, sealSecrets } from '../credentials/connections/live.ts'
import type { ConnectPlan, GivenPlan } from '../credentials/connections/plan.ts'
import type { ConnectionRow } from '../db/tables.ts'
import {
  Connection,
  ConnectionSecrets,
  ConnectionSettings,
  ConnectionStatus,
  ConnectionType,
  EndUserId,
  needsNoBrowser,
  OwnerInput,
  target,
} from '../model/connection.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import { ownerKey, targetOf, toConnection } from '../store/connections.ts'
import { requireOwner } from './act-as.ts'
import { type ConnectionInput, checked, requireIssuer, targetIn } from './connection-input.ts'
import { acts, type Context, creates, lists, type RecordKind } from './operation.ts'

export const connection: RecordKind<Connection> = {
  name: 'connection',
  find: (id, store) => store.connections.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'connection', id }),
}

const account = Text.max(500).nullish().describe('Whose account it is, for people')

export const createConnection = creates({
  name: 'create-connection',
  permission: 'connections:CreateConnection',
  route: 'POST /connections',
  summary: 'Connect an account, for an end user or for the whole project',
  example: { app: 'crm', type: 'api_key', value: 'crm-live-0123456789' },
  secretFields: Object.keys(ConnectionSecrets),
  kind: 'connection',
  input: z.strictObject({
    project_id: Id.optional(),
    ...target,
    type: ConnectionType,
    owner: OwnerInput.default({ kind: 'project' }),
    account,
    ...ConnectionSettings,
    ...ConnectionSecrets,
  }),
  output: Connection,
  async run(input, context) {
    const { connections, store, projectId } = context
    const { type } = input
    const owner = { kind: input.owner.kind, id: input.owner.id ?? null }
    requireOwner(context, owner, projectId)
    const subject = { project_id: projectId, target: await targetIn(input, context), owner: ownerKey(owner) }
    const { settings, secrets } = checked(type, input)
    requireIssuer(settings.issuer, projectId, context)
    const plan = await connections.flows.plan(subject, given(type, settings, secrets))
    if (plan.existing)
      throw new PlatformError('NAME_TAKEN', { kind: 'connection', name: subject.target.replace('/', ' ') })
    if (needsNoBrowser(type)) {
      return toConnection(await connections.keeper.connectDirectly(plan, secrets.subject_token))
    }
    if (type !== 'oauth2_authorization_code') {
      return toConnection(await connections.keeper.saveStatic(plan, secrets, input.account ?? null))
    }
    const id = newId('conn')
    return toConnection(
      await store.connections.create({
        ...{ id, ...subject, type, settings: JSON.stringify(settings), status: 'reauth_required' },
        secrets: secrets.client_secret === undefined ? null : await sealSecrets(id, secrets, context.vault),
        origins: JSON.stringify(plan.origins),
        account: input.account ?? null,
      }),
    )
  },
})

export const listConnections = lists({
  name: 'list-connections',
  permission: 'connections:ListConnections',
  route: 'GET /connections',
  summary: 'List connections, without their credentials',
  of: connection,
  input: z.strictObject({
    project_id: Id.optional(),
    ...target,
    status: ConnectionStatus.optional(),
    end_user_id: EndUserId.optional().describe('Only connections of this end user'),
    ...Paging,
  }),
  output: pageOf(Connection),
  async run({ app, tool_id, end_user_id, ...filter }, { store, principal, visible }) {
    const own = principal.endUserId === null ? undefined : ownerKey({ kind: 'user', id: principal.endUserId })
    const asked = end_user_id === undefined ? undefined : ownerKey({ kind: 'user', id: end_user_id })
    if (own !== undefined && asked !== undefined && asked !== own) {
      return { data: [], total: 0, limit: filter.limit, offset: filter.offset }
    }
    const only = own ?? asked
    const owners = only === undefined ? undefined : [only]
    const at = app === undefined && tool_id === undefined ? undefined : targetOf({ app, tool_id })
    return store.connections.list({ ...filter, target: at, owners }, visible)
  },
})

export const getConnection = acts({
  name: 'get-connection',
  permission: 'connections:GetConnection',
  route: 'GET /connections/{connection_id}',
  summary: 'Get a connection, without its credentials',
  on: connection,
  input: z.strictObject({ id: Id }),
  output: Connection,
  async run({ id }, { target: found, principal }) {
    const isOthers = principal.endUserId !== null && found.owner.id !== principal.endUserId
    if (isOthers) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'connection', id })
    return found
  },
})

export const updateConnection = acts({
  name: 'update-connection',
  permission: 'connections:UpdateConnection',
  route: 'PATCH /connections/{connection_id}',
  summary: 'Replace the credentials of a connection, or revoke it',
  example: { value: 'crm-live-9876543210' },
  secretFields: Object.keys(ConnectionSecrets),
  on: connection,
  input: z.strictObject({
    id: Id,
    account,
    status: z.literal('revoked').optional().describe('Revokes it, here and at the service if that is possible'),
    ...ConnectionSettings,
    ...ConnectionSecrets,
  }),
  output: Connection,
  async run({ id, status, account: named, ...input }, context) {
    const { connections, store, target: before } = context
    requireOwner(context, before.owner, before.project_id)
    const row = await store.connections.findRow(id)
    if (!row) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'connection', id })
    if (status === 'revoked') return toConnection((await connections.keeper.end(row)) ?? row)
    const sent = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    if (Object.keys(sent).length === 0) {
      const change = named === undefined ? {} : { account: named }
      return toConnection((await store.connections.replace(id, change)) ?? row)
    }
    const kept = isOnlyToken(sent) ? clientSecretsOf(row, context) : {}
    const { settings, secrets } = checked(before.type, { ...JSON.parse(row.settings), ...kept, ...sent })
    requireIssuer(input.issuer, before.project_id, context)
    const plan = await connections.flows.plan(row, given(before.type, settings, secrets))
    return toConnection(await replaced(plan, secrets, named ?? row.account, context))
  },
})

/** The secrets of clients are kept if only the token changes, because then they go where they went before. */
const isOnlyToken = (sent: object): boolean => Object.keys(sent).join() === 'subject_token'

function clientSecretsOf(
  row: ConnectionRow,
  { vault }: Context,
): Pick<ConnectionInput, 'client_secret' | 'idp_client_secret'> {
  const { client_secret, idp_client_secret } = openConnection(row, vault).secrets
  return { client_secret, idp_client_secret }
}

const given = (type: ConnectionType, settings: ConnectionSettings, secrets: StoredSecrets): GivenPlan => ({
  ...{ type, settings },
  clientSecret: secrets.client_secret,
  idpClientSecret: secrets.idp_client_secret,
})

async function replaced(plan: ConnectPlan, secrets: StoredSecrets, named: string | null, context: Context) {
  const { keeper } = context.connections
  if (needsNoBrowser(plan.type)) return keeper.connectDirectly(plan, secrets.subject_token)
  if (plan.type !== 'oauth2_authorization_code') return keeper.saveStatic(plan, secrets, named)
  const message = 'the tokens of this type come from a person: create a link with POST /connections/link'
  throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: '', message }] })
}

export const deleteConnection = acts({
  name: 'delete-connection',
  permission: 'connections:DeleteConnection',
  route: 'DELETE /connections/{connection_id}',
  summary: 'Delete a connection; its tokens are revoked at the service if that is possible',
  status: 204,
  on: connection,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, context) {
    const { connections, store, target: before } = context
    requireOwner(context, before.owner, before.project_id)
    const row = await store.connections.findRow(id)
    if (row) await connections.keeper.end(row)
    await store.connections.remove(id)
    return null
  },
})
