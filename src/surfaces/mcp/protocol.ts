import { McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import { knownError } from '../../model/database-unavailable.ts'
import type { JsonObject } from '../../model/json.ts'
import type { Connection, Incoming } from './live.ts'
import type { Offering } from './offering.ts'
import type { Sessions } from './session.ts'

/** The SDK checks by the schema of the tool that is called what must be said of its input in headers too. */
class Protocol extends McpServer {
  calledSchema: JsonObject | undefined

  override toolInputSchemaJson(): JsonObject | undefined {
    return this.calledSchema
  }
}

/** What a caller finds, as the SDK wants to hear it. */
export function toProtocol(
  offering: Offering,
  instructions: string,
  connection: Connection,
  sessions: Sessions,
): Protocol {
  const capabilities = { tools: { listChanged: true }, logging: {} }
  const protocol = new Protocol(offering.info, { capabilities, ...(instructions && { instructions }) })
  const { server } = protocol
  server.setRequestHandler('tools/list', async ({ params }) => {
    const { tools, rest } = await offering.list(params?.cursor)
    return { tools: tools.map(({ value }) => value), ...rest } as never
  })
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, { mcpReq }) => {
    const { id, signal, _meta = {}, envelope, inputResponses, requestState, notify } = mcpReq
    const cancelling = new AbortController()
    signal.addEventListener('abort', () => cancelling.abort())
    const incoming: Incoming = {
      id,
      cancelling,
      meta: _meta as JsonObject,
      envelope: (envelope ?? {}) as JsonObject,
      inputResponses,
      requestState: requestState<string>(),
      notify: (message) => notify(message as never),
      ask: async (message) => server.transport?.send(message as never, { relatedRequestId: id }),
    }
    return (await offering.answer(name, input as JsonObject, incoming, connection)) as never
  })
  server.setRequestHandler('logging/setLevel', ({ params: { level } }) => {
    if (connection.session !== null) sessions.setLevel(connection.session, level)
    return {}
  })
  return protocol
}

/** What is not in the catalogue of errors is logged whole and told to nobody. */
export function toProtocolError(error: unknown, log: Logger): ProtocolError {
  if (error instanceof ProtocolError) return error
  const known = knownError(error)
  if (!known) log.error({ err: error }, 'a fault of the platform')
  const message = known ? known.message : 'Something went wrong inside the platform. The log has it.'
  return new ProtocolError(ProtocolErrorCode.InternalError, message)
}
