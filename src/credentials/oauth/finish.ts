import { timingSafeEqual } from 'node:crypto'
import { validateAuthorizationResponseIssuer } from '@modelcontextprotocol/client'
import * as oauth from 'oauth4webapi'
import { findAccount } from './account.ts'
import { hashState } from './authorize.ts'
import { assertSameIssuer } from './capabilities.ts'
import { hostOf } from './endpoints.ts'
import { GrantRejected, Misconfigured, type OAuthError, TemporaryFailure } from './errors.ts'
import { describe, errorIn } from './responses.ts'
import { peerOf, requestToken } from './token-request.ts'
import { toTokens } from './tokens.ts'
import type { AuthorizationReturn, OAuthContext, Tokens } from './types.ts'
import { traced } from './wire.ts'

/** Checks the callback's parameters, then exchanges the code. Nothing is sent anywhere if `state` or `iss` is wrong. */
export async function finishAuthorization(request: AuthorizationReturn, context: OAuthContext): Promise<Tokens> {
  const { pending, server, client } = request
  const params = await traced('authorization', context, async () => [check(request), 'The response is valid.'])
  const response = await requestToken(
    {
      ...request,
      credential: 'authorization code',
      secrets: [params.get('code') ?? '', pending.verifier],
      send: ({ as, client, auth, options }) => {
        const verifier = server.quirks?.withoutPkce ? oauth.nopkce : pending.verifier
        return oauth.authorizationCodeGrantRequest(as, client, auth, params, pending.redirectUri, verifier, {
          ...options,
          additionalParameters: pending.resource === undefined ? {} : { resource: pending.resource },
        })
      },
    },
    context,
  )
  const granted = { ...response, scope: response.scope ?? pending.scopes?.join(' ') ?? '' }
  const account = await findAccount({ server, client, response: granted }, context)
  return toTokens(response, { scopes: pending.scopes, account })
}

/** In this order: nothing of a response is believed or shown before it is certain where it comes from. */
function check(request: AuthorizationReturn): URLSearchParams {
  const { pending, params, server, client } = request
  const host = hostOf(pending.issuer)
  assertWellFormed(params, host)
  if (!isState(params.get('state'), pending.stateHash)) throw foreign(host)
  assertSameIssuer(server, pending.issuer)
  assertSameIssuer(server, client.issuer)
  if (client.clientId !== pending.clientId) throw foreign(host)
  if (!server.quirks?.unknownIssuer) assertIssuer(request, host)
  if (params.has('error')) throw refusal(params, host)
  if (!params.get('code')) throw malformed(host)
  return accept(request, host)
}

function accept({ params, server, client }: AuthorizationReturn, host: string): URLSearchParams {
  const peer = peerOf(server, client)
  const checked = new URLSearchParams(params)
  if (server.quirks?.unknownIssuer) checked.delete('iss')
  try {
    return oauth.validateAuthResponse(peer.as, peer.client, checked, oauth.skipStateCheck)
  } catch {
    // The library's errors quote the parameters.
    throw malformed(host)
  }
}

const maxLength = 16_384

function assertWellFormed(params: URLSearchParams, host: string): void {
  const names = [...params.keys()]
  if (names.length !== new Set(names).size || params.toString().length > maxLength) throw malformed(host)
}

function isState(state: string | null, stateHash: string): boolean {
  const [given, expected] = [Buffer.from(hashState(state ?? '')), Buffer.from(stateHash)]
  return state !== null && given.length === expected.length && timingSafeEqual(given, expected)
}

/** RFC 9207: a response of another server must not make us send its code to this one, or the reverse. */
function assertIssuer({ pending, params, server }: AuthorizationReturn, host: string): void {
  try {
    validateAuthorizationResponseIssuer({
      iss: params.get('iss') ?? undefined,
      expectedIssuer: pending.issuer,
      issParameterSupported: server.authorization_response_iss_parameter_supported === true,
    })
  } catch {
    throw new Misconfigured(
      `The response does not come from the authorization server at "${host}": its issuer is missing or different. Nothing was sent. If this keeps happening, an administrator can set the issuer of the tool.`,
      { host, code: 'issuer_mismatch' },
    )
  }
}

const passing = new Set(['server_error', 'temporarily_unavailable'])
const refusals = new Set(['access_denied', 'login_required', 'consent_required', 'interaction_required'])

function refusal(params: URLSearchParams, host: string): OAuthError {
  const error = errorIn(Object.fromEntries(params))
  const said = describe(error, 400)
  const failure = { host, code: error.code ?? 'authorization_rejected' }
  if (passing.has(failure.code)) {
    return new TemporaryFailure(
      `The authorization server at "${host}" could not finish (${said}). Try again later.`,
      failure,
    )
  }
  if (refusals.has(failure.code)) {
    return new GrantRejected(
      `The access was not granted at "${host}" (${said}). Connect again if you want to grant it.`,
      failure,
    )
  }
  return new Misconfigured(
    `The authorization server at "${host}" rejected the request (${said}). Check the scopes and the client of this connection.`,
    failure,
  )
}

const foreign = (host: string) =>
  new GrantRejected(
    `The response does not belong to this authorization at "${host}", or it was already used. Start again.`,
    {
      host,
      code: 'state_mismatch',
    },
  )

const malformed = (host: string) =>
  new GrantRejected(`The response of the authorization server at "${host}" is not valid. Start again.`, {
    host,
    code: 'invalid_response',
  })
