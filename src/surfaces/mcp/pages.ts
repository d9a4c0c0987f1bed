import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

/** Where a page begins: a cursor is the place in the list. */
export function startOf(cursor: string | undefined, length: number): number {
  const start = cursor === undefined ? 0 : Number(cursor)
  if (Number.isSafeInteger(start) && start >= 0 && start <= length) return start
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'This cursor is not one of ours: begin again without it.')
}
