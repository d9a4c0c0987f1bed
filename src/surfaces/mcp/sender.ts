import type { Request as Asking } from '../../operations/operation.ts'
import { lineageHeader } from '../../tools/lineage.ts'
import { bearer, clientOf } from '../asking.ts'
import type { Sessions } from './session.ts'

/** Of a request's headers, those that say who asks and from where. */
export type Sent = Readonly<
  Partial<
    Record<
      'authorization' | 'host' | 'origin' | 'user-agent' | 'mcp-session-id' | typeof lineageHeader,
      string | undefined
    >
  >
>

/** Who sends a request, as far as its headers tell without a look at anything else. */
export interface Sender {
  readonly token: string | undefined
  readonly client: Asking['client']
  readonly lineage: string | undefined
  readonly home: string | undefined
  /** The header by which it betrays a page in a browser that was tricked into calling us. */
  readonly foreign: 'Host' | 'Origin' | undefined
}

export function readSender(headers: Sent, sessions: Sessions, onLoopback: boolean): Sender {
  const { authorization, host, 'user-agent': userAgent, 'mcp-session-id': session, [lineageHeader]: lineage } = headers
  return {
    token: bearer(authorization),
    client: sessions.client(session) ?? clientOf(userAgent),
    lineage,
    home: host && `http://${host}`,
    foreign: findForeign(headers, onLoopback),
  }
}

/** A page in a browser that was tricked into calling us says so in its Host or Origin header. */
function findForeign({ host = '', origin }: Sent, onLoopback: boolean): Sender['foreign'] {
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(host)
  if (onLoopback && host !== '' && !isLocal) return 'Host'
  return origin !== undefined && origin !== 'null' && URL.parse(origin)?.host !== host ? 'Origin' : undefined
}
