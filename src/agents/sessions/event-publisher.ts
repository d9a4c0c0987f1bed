import type { Logger } from 'pino'
import type { Jobs } from '../../jobs/jobs.ts'
import { every } from '../../lib/every.ts'
import type { SessionEvent } from '../../model/session.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import type { Store } from '../../store/store.ts'

const queue = 'session-events'
const page = 200
const remindEvery = 10_000

export interface EventPublisherDeps {
  readonly store: Store
  readonly jobs: Jobs
  readonly log: Logger
  /** May be called twice with the same events. */
  publish(session: SessionRecord, events: readonly SessionEvent[]): Promise<void>
}

export const keepPublishing = (publisher: EventPublisher, log: Logger) =>
  every(
    remindEvery,
    () => publisher.remind(),
    (err) => log.warn({ err }, 'could not look for events that are not published'),
  )

/**
 * Publishes the events of sessions as they are appended. A session knows up to which offset that is done (`published`), so
 * that after a crash another process does the rest.
 */
export class EventPublisher {
  readonly #deps: EventPublisherDeps

  constructor(deps: EventPublisherDeps) {
    this.#deps = deps
    deps.store.sessions.onUnpublished((id) => void this.#enqueue(id))
  }

  async work(): Promise<void> {
    await this.#deps.jobs.work(queue, (id, lease) => this.#publish(id, lease), { concurrency: 20 })
    await this.remind()
  }

  /** Enqueues what a process left that died between the commit and the job. */
  async remind(): Promise<void> {
    for (const id of await this.#deps.store.sessions.unpublished()) await this.#enqueue(id)
  }

  async #enqueue(id: string): Promise<void> {
    const { jobs, log } = this.#deps
    await jobs.enqueue(queue, id).catch((err: unknown) => log.warn({ err }, 'could not publish events of a session'))
  }

  async #publish(id: string, lease: AbortSignal): Promise<void> {
    const { store, publish } = this.#deps
    while (!lease.aborted) {
      const session = await store.sessions.find(id)
      if (!session) return
      const events = await store.sessions.events(id, { min_offset: session.published, limit: page })
      const last = events.at(-1)
      if (!last) return
      await publish(session, events)
      await store.sessions.markPublished(id, last.offset + 1)
    }
  }
}
