import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

/** A cursor is the offset of the page. */
export function startOf(cursor: string | undefined, length: number): number {
  const start = cursor === undefined ? 0 : Number(cursor)
  if (Number.isSafeInteger(start) && start >= 0 && start <= length) return start
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is not valid. Start again without a cursor.')
}
