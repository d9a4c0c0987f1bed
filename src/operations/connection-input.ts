import type { z } from 'zod'
import type { StoredSecrets } from '../credentials/connections/live.ts'
import { type ConnectionSecrets, ConnectionSettings, type ConnectionType } from '../model/connection.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { targetOf } from '../store/connections.ts'
import { type Context, requireAllowed } from './operation.ts'

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

export type ConnectionInput = ConnectionSettings & z.infer<z.ZodObject<typeof ConnectionSecrets>>

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

const requiredBy: Readonly<Record<ConnectionType, readonly (keyof ConnectionInput)[]>> = {
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

export function checked(
  type: ConnectionType,
  input: ConnectionInput,
): { settings: ConnectionSettings; secrets: StoredSecrets } {
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

export const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
