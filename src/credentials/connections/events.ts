import type { ConnectionRow } from '../../db/tables.ts'
import type { Connection } from '../../model/connection.ts'
import { toConnection } from '../../store/connections.ts'

export type ConnectionEvent =
  | 'connection.created'
  | 'connection.expiring'
  | 'connection.reauth_required'
  | 'connection.revoked'
  | 'connection.restored'

/** Publishes changes of connections, for webhooks. Called by the process that made the change, after it is stored. */
export class ConnectionEvents {
  readonly #publish: (event: ConnectionEvent, connection: Connection, key: string) => Promise<void>

  constructor(publish: (event: ConnectionEvent, connection: Connection, key: string) => Promise<void>) {
    this.#publish = publish
  }

  publish(event: ConnectionEvent, row: ConnectionRow): Promise<void> {
    return this.#publish(event, toConnection(row), `${row.id}/${event}/${row.generation}/${row.updated_at}`)
  }
}
