import { randomUUID } from 'node:crypto'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Question } from '../../model/asking.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'

const most = 10_000
const stopping = 'the platform is shutting down'

/** Whom to ask: over the stream of its call. */
export interface Asked {
  readonly principalId: string
  readonly signal: AbortSignal
  send(message: JsonObject): Promise<void>
}

interface Waiting {
  readonly principalId: string
  answer(message: JsonObject): void
  giveUp(reason: string): void
}

/**
 * The questions to callers of 2025 that wait in this process. A question goes out on the stream of the call, and its
 * answer comes as a request of its own: it is known by an id that cannot be guessed, and counts only with the same key.
 */
export class Questions {
  readonly #waiting = new Map<string, Waiting>()
  #closed = false

  async ask({ method, params }: Question, { principalId, signal, send }: Asked): Promise<JsonObject> {
    if (this.#closed) throw unanswered(stopping)
    if (this.#waiting.size >= most) throw unanswered('too many questions wait already')
    const id = randomUUID()
    return new Promise<JsonObject>((resolve, reject) => {
      const giveUp = (reason: string) => reject(unanswered(reason))
      const cancelled = () => giveUp('the call was cancelled')
      const answer = ({ result, error }: JsonObject) =>
        isObject(result) ? resolve(result as JsonObject) : reject(toError(error))
      this.#waiting.set(id, { principalId, answer, giveUp })
      signal.addEventListener('abort', cancelled, { once: true })
      send({ jsonrpc: '2.0', id, method, ...(params && { params }) }).catch(() => giveUp('the caller is gone'))
      if (signal.aborted) cancelled()
    }).finally(() => this.#waiting.delete(id))
  }

  /** Whether someone here waited for it. */
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

/** An answer has an id, and a result or an error, and names no method. */
export const isAnswer = (body: unknown): body is JsonObject =>
  isObject(body) && !('method' in body) && 'id' in body && ('result' in body || 'error' in body)

export const unanswered = (reason: string) =>
  new ProtocolError(ProtocolErrorCode.InternalError, `The caller did not answer: ${reason}.`)

function toError(error: unknown): ProtocolError {
  const { code, message, data } = isObject(error) ? error : {}
  return new ProtocolError(
    Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError,
    typeof message === 'string' ? message : 'The caller answered neither a result nor an error.',
    data,
  )
}

/**
 * What an MCP server finds wrong with how its caller answers questions is for the caller's client, not for its model: a
 * state or answers that it refuses, or something that the caller would have to be asked and cannot.
 */
export function faultOf(error: unknown, { asking }: Live): ProtocolError | undefined {
  const { cause } = error instanceof PlatformError ? error : {}
  if (!(cause instanceof Error) || cause.name !== 'ProtocolError') return undefined
  const { code, message, data } = cause as ProtocolError
  const answered = Object.keys(asking?.round ?? {}).length > 0
  const isForClient =
    code === ProtocolErrorCode.MissingRequiredClientCapability || (answered && code === ProtocolErrorCode.InvalidParams)
  return isForClient ? new ProtocolError(code, message, data) : undefined
}
