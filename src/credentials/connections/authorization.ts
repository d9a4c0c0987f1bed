import type { ConnectionRow } from '../../db/tables.ts'
import type { HttpClient, OutboundRequest, OutboundResponse } from '../../http/outbound.ts'
import type { ConnectReason } from '../../model/connection.ts'
import type { Redactor } from '../redactor.ts'
import type { Presented } from './live.ts'

/**
 * A call needs its user to connect, or to connect again. Dispatch turns it into `CONNECTION_REQUIRED`, with a link for
 * the user of the call: connections to MCP servers are shared, so this must not contain one.
 */
export class ConnectionNeeded extends Error {
  override readonly name = 'ConnectionNeeded'
  readonly reason: ConnectReason
  /** The WWW-Authenticate header of the server, if it has asked for authorization. */
  readonly challenge: string | undefined
  /** The connection that does not work. */
  readonly subject: Pick<ConnectionRow, 'target' | 'owner'> | undefined

  constructor(
    reason: ConnectReason,
    { challenge, subject }: Pick<Partial<ConnectionNeeded>, 'challenge' | 'subject'> = {},
  ) {
    super(`A connection is needed: ${reason}.`)
    this.reason = reason
    this.challenge = challenge
    this.subject = subject
  }
}

/** The credentials for requests of one connection. */
export interface Authorization {
  /** Identifies the connection. Requests of different connections never share a connection to the server. */
  readonly key: string
  /** The current credentials, refreshed if necessary. */
  current(): Presented | Promise<Presented>
  /**
   * The server returned 401 or 403. Resolves with other credentials to try once more, or with undefined if the response
   * stands. Throws `ConnectionNeeded` if only the user can help.
   */
  rejected(sent: Presented, refusal: Refusal): Promise<Presented | undefined>
  /** Redacts everything that was presented. */
  readonly redactors: readonly Redactor[]
}

export interface Refusal {
  readonly status: 401 | 403
  readonly challenge: string | undefined
  /** Whether other credentials were already tried for this request. */
  readonly isSecond: boolean
}

/** Sends with current credentials, and at most once more with others. */
export async function authorized<Response>(
  authorization: Authorization,
  send: (presented: Presented) => Promise<Response>,
  refusalOf: (response: Response) => { readonly status: number; readonly challenge: string | undefined },
): Promise<Response> {
  let presented = await authorization.current()
  for (let isSecond = false; ; isSecond = true) {
    const response = await send(presented)
    const { status, challenge } = refusalOf(response)
    if (status !== 401 && status !== 403) return response
    const other = await authorization.rejected(presented, { status, challenge, isSecond })
    if (other === undefined || isSecond) return response
    presented = other
  }
}

export const withQuery = (url: URL, query: Presented['query']): URL => {
  const entries = Object.entries(query)
  if (entries.length === 0) return url
  const next = new URL(url)
  for (const [name, value] of entries) next.searchParams.set(name, value)
  return next
}

const ofResponse = ({ status, headers }: OutboundResponse) => ({ status, challenge: headers['www-authenticate'] })

/** An HTTP client whose requests carry the credentials, which are read for each request. */
export const authorizedClient = (http: HttpClient, authorization: Authorization): HttpClient => ({
  request: (request) =>
    authorized(authorization, (presented) => http.request(withCredentials(request, presented)), ofResponse),

  fetch: ((input, init) =>
    authorized(
      authorization,
      ({ headers: added, query }) => {
        const headers = new Headers(init?.headers)
        for (const [name, value] of Object.entries(added)) headers.set(name, value)
        return http.fetch(withQuery(new URL(String(input)), query), { ...init, headers })
      },
      (response) => ({ status: response.status, challenge: response.headers.get('www-authenticate') ?? undefined }),
    )) as typeof fetch,
})

const withCredentials = (request: OutboundRequest, { headers, query }: Presented): OutboundRequest => {
  const { url, method, body, signal } = request
  return {
    ...{ method, body, signal },
    url: withQuery(url, query),
    headers: { ...request.headers, ...headers },
    ...(request.onEvents && { onEvents: (part) => request.onEvents?.(part) }),
    ...(request.hasEnough && { hasEnough: () => request.hasEnough?.() === true }),
  }
}
