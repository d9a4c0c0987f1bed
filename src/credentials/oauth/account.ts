import { decodeJwt } from 'jose'
import type { Json, JsonObject } from '../../lib/json.ts'
import { hostOf } from './endpoints.ts'
import { Misconfigured } from './errors.ts'
import { cleaned, parseBody } from './responses.ts'
import { at } from './standardize.ts'
import type { AccountSource, AuthorizationServer, OAuthClient, OAuthContext } from './types.ts'
import { traced } from './wire.ts'

const claims = ['email', 'preferred_username', 'name', 'sub']

export interface AccountQuestion {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  /** The token response. */
  readonly response: JsonObject
}

/** A name of the connected account, for people. Returns undefined if none can be found: the connection works without. */
export async function findAccount(question: AccountQuestion, context: OAuthContext): Promise<string | undefined> {
  const { server, response } = question
  const source = server.quirks?.account
  const stated = source && source.url === undefined ? firstText(response, source.paths) : undefined
  const known = stated ?? nameInIdToken(question)
  if (known !== undefined) return known
  const token = String(response.access_token)
  if (source?.url !== undefined) return ask(source.url, source, token, context)
  const mayAsk = server.userinfo_endpoint !== undefined && `${response.scope ?? ''}`.split(' ').includes('openid')
  return mayAsk ? ask(server.userinfo_endpoint as string, { paths: claims }, token, context) : undefined
}

/**
 * The ID token came directly from the server over TLS, which may replace checking its signature (OpenID Connect Core,
 * section 3.1.3.7). It must still be from this issuer and for this client.
 */
function nameInIdToken({ server, client, response }: AccountQuestion): string | undefined {
  if (typeof response.id_token !== 'string') return undefined
  try {
    const { iss, aud, ...rest } = decodeJwt<JsonObject>(response.id_token)
    const audiences = Array.isArray(aud) ? aud : [aud]
    return iss === server.issuer && audiences.includes(client.clientId) ? firstText(rest, claims) : undefined
  } catch {
    return undefined
  }
}

async function ask(
  url: string,
  source: AccountSource,
  token: string,
  context: OAuthContext,
): Promise<string | undefined> {
  const { method = 'GET', headers, body, paths } = source
  try {
    return await traced('account', context, async (fetch) => {
      const response = await fetch(url, {
        method,
        headers: {
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
          authorization: `Bearer ${token}`,
        },
        ...(body !== undefined && { body }),
      })
      const name = response.ok ? firstText(parseBody(await response.text()), paths, [token]) : undefined
      if (name === undefined) throw unnamed(hostOf(url), response.status)
      return [name, 'Found the name of the account.']
    })
  } catch {
    context.signal?.throwIfAborted()
    return undefined
  }
}

const unnamed = (host: string, status: number) =>
  new Misconfigured(`"${host}" did not name the account. The connection works without.`, {
    host,
    code: 'no_account',
    status,
  })

function firstText(value: Json, paths: readonly string[], secrets: readonly string[] = []): string | undefined {
  for (const path of paths) {
    const found = at(value, path)
    const text = typeof found === 'string' || typeof found === 'number' ? cleaned(String(found), secrets) : ''
    if (text !== '') return text
  }
  return undefined
}
