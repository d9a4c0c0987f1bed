import { randomUUID } from 'node:crypto'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import type { ClientRequest } from '../../model/client-request.ts'
import { PlatformError } from '../../model/errors.ts'

const most = 10_000
const stopping = 'the platform is shutting down'

/** The client to ask, over the stream of its call. */
export interface RequestTarget {
  readonly principalId: string
  readonly signal: AbortSignal
  send(message: JsonObject): Promise<void>
}

interface PendingRequest {
  readonly principalId: string
  answer(message: JsonObject): void
  giveUp(reason: string): void
}

/**
 * Pending requests to clients on the 2025 protocol. A request is sent on the stream of the call, and the response
 * arrives as a separate HTTP request. It is matched by an unguessable id, and accepted only with the same key.
 */
export class ClientRequests {
  readonly #waiting = new Map<string, PendingRequest>()
  #closed = false

  async ask({ method, params }: ClientRequest, { principalId, signal, send }: RequestTarget): Promise<JsonObject> {
    if (this.#closed) throw unanswered(stopping)
    if (this.#waiting.size >= most) throw unanswered('too many questions are already pending')
    const id = randomUUID()
    return new Promise<JsonObject>((resolve, reject) => {
      const giveUp = (reason: string) => reject(unanswered(reason))
      const cancelled = () => giveUp('the call was cancelled')
      const answer = ({ result, error }: JsonObject) => (isObject(result) ? resolve(result) : reject(toError(error)))
      this.#waiting.set(id, { principalId, answer, giveUp })
      signal.addEventListener('abort', cancelled, { once: true })
      send({ jsonrpc: '2.0', id, method, ...(params && { params }) }).catch(() => giveUp('the caller disconnected'))
      if (signal.aborted) cancelled()
    }).finally(() => this.#waiting.delete(id))
  }

  /** Returns whether the request was pending here. */
  answer(principalId: string, message: JsonObject): boolean {
    const waiting = this.#waiting.get(String(message.id))
    if (waiting?.principalId !== principalId) return false
    waiting.answer(message)
    return true
  }

  close(): void {
    this.#closed = true
    for (const { giveUp } of this.#waiting.values()) giveUp(stopping)
  }
}

/** A response has an id, a result or an error, and no method. */
export const isAnswer = (body: unknown): body is JsonObject =>
  isObject(body) && !('method' in body) && 'id' in body && ('result' in body || 'error' in body)

export const unanswered = (reason: string) =>
  new ProtocolError(ProtocolErrorCode.InternalError, `The caller did not answer: ${reason}.`)

function toError(error: unknown): ProtocolError {
  const { code, message, data } = isObject(error) ? error : {}
  return new ProtocolError(
    Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError,
    typeof message === 'string' ? message : 'The caller returned neither a result nor an error.',
    data,
  )
}

/**
 * Some errors of an MCP server are for the client, not for its model: it rejects the client's responses or request
 * state, or it needs to ask something that the client does not support.
 */
export function faultOf(error: unknown, { requester }: Live): ProtocolError | undefined {
  const { cause } = error instanceof PlatformError ? error : {}
  if (!(cause instanceof Error) || cause.name !== 'ProtocolError') return undefined
  const { code, message, data } = cause as ProtocolError
  const answered = Object.keys(requester?.round ?? {}).length > 0
  const isForClient =
    code === ProtocolErrorCode.MissingRequiredClientCapability || (answered && code === ProtocolErrorCode.InvalidParams)
  return isForClient ? new ProtocolError(code, message, data) : undefined
}
