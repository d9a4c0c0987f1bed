import type { ConnectionRow } from '../../db/tables.ts'
import type { ConnectionSettings } from '../../model/connection.ts'
import { sealedAt } from '../../store/sealed.ts'
import type { AuthorizationServer, OAuthClient } from '../oauth/types.ts'
import { Redactor } from '../redactor.ts'
import type { Vault } from '../vault.ts'
import type { IdentityProvider } from './grant.ts'

/** The secrets of a connection. They are stored as encrypted JSON. */
export interface StoredSecrets {
  readonly value?: string | undefined
  readonly password?: string | undefined
  readonly client_secret?: string | undefined
  readonly access_token?: string | undefined
  readonly refresh_token?: string | undefined
  /** What is exchanged for tokens. */
  readonly subject_token?: string | undefined
  readonly idp_client_secret?: string | undefined
  readonly identity_provider?: IdentityProvider | undefined
  /** The OAuth client that the tokens were issued to. */
  readonly client?: OAuthClient | undefined
}

/** What is needed to refresh tokens, without secrets. */
export interface GrantDetails {
  readonly server: AuthorizationServer
  /** When the current token was issued. Its lifetime decides how early it is refreshed. */
  readonly issued_at: number
}

/** Credentials as they are added to a request. */
export interface Presented {
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Which credentials these are. They change with every refresh. */
  readonly generation: number
}

/** A connection with its decrypted credentials. */
export interface LiveConnection {
  readonly row: ConnectionRow
  readonly settings: ConnectionSettings
  readonly secrets: StoredSecrets
  readonly details: GrantDetails | undefined
  readonly presented: Presented
  /** Redacts the credentials in everything that comes back. */
  readonly redactor: Redactor
}

export function openConnection(row: ConnectionRow, vault: Pick<Vault, 'open'>): LiveConnection {
  const settings: ConnectionSettings = JSON.parse(row.settings)
  const secrets: StoredSecrets =
    row.secrets === null ? {} : JSON.parse(vault.open(row.secrets, sealedAt.connection(row.id)))
  const details: GrantDetails | undefined = row.grant_details === null ? undefined : JSON.parse(row.grant_details)
  const presented = { query: {}, headers: {}, ...present(row, settings, secrets), generation: row.generation }
  return { row, settings, secrets, details, presented, redactor: new Redactor(textsOf(settings, secrets)) }
}

export const sealSecrets = (
  id: string,
  secrets: StoredSecrets,
  vault: { seal(text: string, place: string): Promise<string> },
): Promise<string> => vault.seal(JSON.stringify(secrets), sealedAt.connection(id))

const basic = (username: string, password: string) => Buffer.from(`${username}:${password}`).toString('base64')

function present(
  { type }: Pick<ConnectionRow, 'type'>,
  { header, query, username = '' }: ConnectionSettings,
  { value = '', password = '', access_token }: StoredSecrets,
): Partial<Presented> {
  if (type === 'api_key') {
    return query === undefined
      ? { headers: { [(header ?? 'x-api-key').toLowerCase()]: value } }
      : { query: { [query]: value } }
  }
  if (type === 'bearer') return { headers: { authorization: `Bearer ${value}` } }
  if (type === 'basic') return { headers: { authorization: `Basic ${basic(username, password)}` } }
  return access_token === undefined ? {} : { headers: { authorization: `Bearer ${access_token}` } }
}

/** Every text that must not appear in a response. The redactor also finds them encoded. */
const textsOf = ({ username = '' }: ConnectionSettings, secrets: StoredSecrets): string[] => {
  const { value, password, client_secret, access_token, refresh_token, subject_token, client } = secrets
  const encoded = password === undefined ? undefined : basic(username, password)
  const ofClients = [client_secret, client?.clientSecret, secrets.identity_provider?.client.clientSecret]
  return [value, password, encoded, ...ofClients, access_token, refresh_token, subject_token].filter(
    (text) => text !== undefined,
  )
}
