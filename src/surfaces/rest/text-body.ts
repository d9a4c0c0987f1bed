import type { Operation } from '../../operations/operation.ts'
import type { Exchange } from '../../server/exchange.ts'

/** The forms in which a text can arrive in pieces. */
export const textTypes = ['text/plain', 'text/event-stream', 'application/x-ndjson']

/** Whether the body is a text that arrives in pieces, and the operation accepts that. */
export const hasTextBody = ({ acceptsText }: Operation, { headers }: Exchange): boolean =>
  acceptsText === true && textTypes.some((type) => headers['content-type']?.toLowerCase().startsWith(type))
