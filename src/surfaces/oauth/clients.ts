import { createHmac } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { ClientMetadata } from 'oidc-provider'
import { isSame } from '../../credentials/oauth-server-keys.ts'
import { isObject } from '../../lib/json.ts'

const grantTypes = ['authorization_code', 'refresh_token']

export const maxRedirects = 10
/** A client id is part of URLs, so it has to stay short. */
const maxIdLength = 4000

/** What we use of a client's metadata. Logos and policies of clients are not shown, so they are not kept. */
const kept = [
  'client_id',
  'client_name',
  'client_uri',
  'redirect_uris',
  'application_type',
  'token_endpoint_auth_method',
  'token_endpoint_auth_signing_alg',
  'jwks',
  'jwks_uri',
] as const

/**
 * Makes the metadata of a client acceptable that real clients send. Editors say `web` although they listen on loopback or
 * have a URL scheme of their own, leave the type out, and list grant types that we do not have.
 */
export function normalized(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const fields = kept.filter((name) => metadata[name] !== undefined && metadata[name] !== null)
  const result: Record<string, unknown> = Object.fromEntries(fields.map((name) => [name, metadata[name]]))
  const uris = Array.isArray(metadata.redirect_uris) ? metadata.redirect_uris : []
  if (uris.some(isNative)) result.application_type = 'native'
  const asked = Array.isArray(metadata.grant_types) ? metadata.grant_types : grantTypes
  // Every client of ours uses codes. One that lists other grant types only still has to name these.
  const known = grantTypes.filter((type) => asked.includes(type))
  return { ...result, grant_types: known.length > 0 ? known : asked, response_types: ['code'] }
}

const isNative = (uri: unknown): boolean => {
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  return url !== null && url.protocol !== 'https:'
}

const prefix = 'dcr_'

/**
 * Registered clients without a table: the id of a client is its metadata, signed. Nobody can fill a table, nothing expires or
 * gets lost, and every process knows every client.
 */
export class SignedClients {
  readonly #key: Buffer

  constructor(key: Buffer) {
    this.#key = key
  }

  /** Undefined if the metadata is too long for an id. */
  idOf(metadata: Readonly<Record<string, unknown>>): string | undefined {
    const { client_id: _, client_secret: __, ...rest } = metadata
    const packed = deflateRawSync(JSON.stringify(rest)).toString('base64url')
    const id = `${prefix}${packed}.${this.#sign(packed).toString('base64url')}`
    return id.length > maxIdLength ? undefined : id
  }

  find(id: string): ClientMetadata | undefined {
    if (!id.startsWith(prefix) || id.length > maxIdLength) return undefined
    const [packed = '', signature = ''] = id.slice(prefix.length).split('.')
    if (!isSame(Buffer.from(signature, 'base64url'), this.#sign(packed))) return undefined
    // The signature must have one spelling only, because the id is compared as text elsewhere.
    if (id !== `${prefix}${packed}.${signature}` || this.#sign(packed).toString('base64url') !== signature)
      return undefined
    const metadata: unknown = JSON.parse(inflateRawSync(Buffer.from(packed, 'base64url')).toString())
    if (!isObject(metadata)) return undefined
    const method = metadata.token_endpoint_auth_method
    const hasSecret = typeof method === 'string' && method.startsWith('client_secret')
    return { ...metadata, client_id: id, ...(hasSecret && { client_secret: this.secretOf(id) }) }
  }

  /** Derived from the id, so it is not stored either. */
  secretOf(id: string): string {
    return createHmac('sha256', this.#key).update(`secret\n${id}`).digest('base64url')
  }

  #sign(packed: string): Buffer {
    return createHmac('sha256', this.#key).update(`client\n${packed}`).digest()
  }
}
