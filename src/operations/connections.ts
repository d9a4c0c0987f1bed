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
import { type Fault, PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { Id, Paging, pageOf, Text, Timestamp } from '../model/page.ts'
import { ownerKey, targetOf, toConnection } from '../store/connections.ts'
import { actingAs, isBackend, requireOwner } from './act-as.ts'
import { acts, type Context, creates, lists, operation, type RecordKind, requireAllowed } from './operation.ts'

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

function clientSecretsOf(row: ConnectionRow, { vault }: Context): Pick<Given, 'client_secret' | 'idp_client_secret'> {
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

export const ConnectLink = z.object({
  connect_url: z.string().describe('The page on which the user connects the account. It works once'),
  expires_at: Timestamp,
})

export const createConnectLink = creates({
  name: 'create-connect-link',
  permission: 'connections:CreateConnectLink',
  route: 'POST /connections/link',
  summary: 'Create a link to a page on which an end user connects an account, or connects it again',
  example: { app: 'crm', end_user_id: 'user-42' },
  secretFields: ['connect_url'],
  kind: 'connection',
  input: z.strictObject({
    project_id: Id.optional(),
    ...target,
    end_user_id: EndUserId.optional().describe(
      'The user who connects; by default, the user of the key, or the project',
    ),
    return_url: Text.max(2000)
      .optional()
      .describe('Where to go afterwards; its origin must be in return_origins of the project'),
  }),
  output: ConnectLink,
  async run(input, context) {
    const { connections, principal, projectId, store } = context
    const { endUserId } = actingAs(context, input.end_user_id, projectId)
    const owner = { kind: endUserId === null ? ('project' as const) : ('user' as const), id: endUserId }
    requireOwner(context, owner, projectId)
    const subject = { project_id: projectId, target: await targetIn(input, context), owner: ownerKey(owner) }
    if (input.return_url !== undefined) {
      const origin = URL.parse(input.return_url)?.origin ?? 'null'
      const project = await store.projects.find(projectId)
      if (!project?.return_origins.includes(origin)) throw new PlatformError('RETURN_URL_NOT_ALLOWED', { origin })
    }
    const plan = await connections.flows.plan(subject)
    if (needsNoBrowser(plan.type)) {
      const message = `is connected with ${plan.type}, without a page: use POST /connections`
      throw invalid(input.tool_id === undefined ? 'app' : 'tool_id', message)
    }
    return connections.flows.createLink({
      ...subject,
      principalId: principal.id,
      mintedBy: isBackend(context) ? 'backend' : 'platform',
      toolId: input.tool_id ?? null,
      reason: plan.existing ? 'expired' : 'missing',
      challenge: null,
      returnUrl: input.return_url ?? null,
    })
  },
})

const Diagnosis = z.object({
  ok: z.boolean().describe('Whether every step succeeded'),
  type: ConnectionType,
  connection_id: z.string().nullable().describe('The account that was checked; null if none is connected'),
  redirect_uri: z.string().describe('The redirect URI that the client of the platform has, for registrations by hand'),
  steps: z.array(
    z.object({
      step: z.enum([
        ...['request', 'challenge', 'resource_metadata', 'server_metadata', 'registration', 'authorization', 'token'],
        ...['account', 'revocation'],
      ] as const),
      ok: z.boolean(),
      method: z.string().nullable(),
      url: z.string().nullable().describe('Host and path; never a query'),
      status: z.number().nullable(),
      detail: z.string().describe('What was found, or what failed and what to do'),
    }),
  ),
})

export const diagnoseConnection = creates({
  name: 'diagnose-connection',
  permission: 'connections:DiagnoseConnection',
  route: 'POST /connections/diagnose',
  summary: 'Try each step of connecting an account and using it, and report what fails',
  example: { app: 'crm' },
  status: 200,
  kind: 'connection',
  input: z.strictObject({
    project_id: Id.optional(),
    ...target,
    end_user_id: EndUserId.optional().describe('The user whose account is checked; by default, that of the project'),
  }),
  output: Diagnosis,
  async run(input, context) {
    const { connections, projectId } = context
    const { endUserId } = actingAs(context, input.end_user_id, projectId)
    const owner = { kind: endUserId === null ? ('project' as const) : ('user' as const), id: endUserId }
    requireOwner(context, owner, projectId)
    const subject = { project_id: projectId, target: await targetIn(input, context), owner: ownerKey(owner) }
    const plan = await connections.flows.plan(subject)
    const steps = await connections.diagnose(plan)
    return {
      ok: steps.every(({ ok }) => ok),
      type: plan.type,
      connection_id: plan.existing?.id ?? null,
      redirect_uri: connections.flows.redirectUri,
      steps: steps.map(({ method = null, url = null, status = null, ...step }) => ({ ...step, method, url, status })),
    }
  },
})

export const confirmConnectFlow = operation({
  name: 'confirm-connect-flow',
  permission: 'connections:ActAs',
  route: 'POST /connections/flows/{flow_id}/confirm',
  summary: 'Confirm which user has opened a connect link, for the verifier_url of a project',
  example: { end_user_id: 'user-42' },
  byPeople: true,
  input: z.strictObject({ id: Id, end_user_id: EndUserId }),
  output: ConnectLink,
  async run({ id, end_user_id }, { connections, principal }) {
    const { projectId } = principal
    requireAllowed(principal, 'connections:ActAs', { projectId, kind: 'end-user', id: end_user_id })
    return connections.flows.confirm(id, end_user_id, projectId)
  },
})

type TargetInput = { readonly app?: string | undefined; readonly tool_id?: string | undefined }

/** The target as it is stored. Names of tools are resolved like ids. */
export async function targetIn(
  { app, tool_id }: TargetInput,
  { store, projectId }: Context & { readonly projectId: string },
): Promise<string> {
  if ((app === undefined) === (tool_id === undefined)) throw invalid('app', 'send either app or tool_id')
  if (tool_id === undefined) return targetOf({ app })
  const found = await store.tools.find(tool_id)
  const [named] = found ? [] : await store.names.find('tools', [tool_id], projectId)
  const id = found?.project_id === projectId ? found.id : named?.id
  if (id === undefined) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'tool', id: tool_id })
  return targetOf({ tool_id: id })
}

/** Tokens go to the issuer, so choosing it is more than connecting an account. */
export function requireIssuer(issuer: string | undefined, projectId: string, { principal }: Context): void {
  if (issuer === undefined) return
  requireAllowed(principal, 'connections:OverrideIssuer', { projectId, kind: 'connection', id: '*' })
}

type Given = ConnectionSettings & z.infer<z.ZodObject<typeof ConnectionSecrets>>

const atTokenEndpoint = ['client_id', 'signing_algorithm', 'scopes', 'issuer', 'token_endpoint'] as const

const settingsOf: Readonly<Record<ConnectionType, readonly (keyof ConnectionSettings)[]>> = {
  api_key: ['header', 'query'],
  bearer: [],
  basic: ['username'],
  oauth2_client_credentials: atTokenEndpoint,
  oauth2_authorization_code: [
    'client_id',
    'signing_algorithm',
    'scopes',
    'issuer',
    'subdomain',
    'authorization_endpoint',
    'token_endpoint',
  ],
  oauth2_token_exchange: [...atTokenEndpoint, 'audience', 'subject_token_type'],
  oauth2_enterprise_managed: [...atTokenEndpoint, 'idp_issuer', 'idp_token_endpoint', 'idp_client_id'],
}

const requiredBy: Readonly<Record<ConnectionType, readonly (keyof Given)[]>> = {
  api_key: ['value'],
  bearer: ['value'],
  basic: ['username', 'password'],
  oauth2_client_credentials: ['client_id', 'client_secret'],
  oauth2_authorization_code: [],
  oauth2_token_exchange: ['subject_token'],
  oauth2_enterprise_managed: ['subject_token'],
}

/** The settings that a type has. Others are refused, because they would have no effect. */
export function settingsFor(
  type: ConnectionType,
  input: ConnectionSettings,
): { settings: ConnectionSettings; errors: Fault[] } {
  const names = Object.keys(ConnectionSettings) as (keyof ConnectionSettings)[]
  const given = names.filter((name) => input[name] !== undefined)
  const errors = given.flatMap((name) =>
    settingsOf[type].includes(name) ? [] : [{ path: name, message: `does not apply to the type ${type}` }],
  )
  if (input.header !== undefined && input.query !== undefined) {
    errors.push({ path: 'query', message: 'cannot be combined with header' })
  }
  return { settings: Object.fromEntries(given.map((name) => [name, input[name]])), errors }
}

function checked(type: ConnectionType, input: Given): { settings: ConnectionSettings; secrets: StoredSecrets } {
  const { settings, errors } = settingsFor(type, input)
  const value = input.value ?? input.api_key ?? input.token
  const { password, subject_token, idp_client_secret } = input
  const client_secret = input.client_secret ?? input.private_key
  const secrets = { value, password, client_secret, subject_token, idp_client_secret }
  if ((input.private_key === undefined) !== (settings.signing_algorithm === undefined)) {
    errors.push({ path: 'signing_algorithm', message: 'must be sent together with private_key' })
  }
  const all = { ...settings, ...secrets }
  for (const name of requiredBy[type]) {
    if (all[name as keyof typeof all] === undefined)
      errors.push({ path: name, message: `is missing: ${type} needs it` })
  }
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  return { settings, secrets }
}

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
