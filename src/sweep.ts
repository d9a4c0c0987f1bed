import type { Logger } from 'pino'
import { every } from './model/every.ts'
import { firstIdAt } from './model/ids.ts'
import type { Store } from './store/store.ts'
import type { Webhooks } from './webhooks/webhooks.ts'

const hour = 60 * 60 * 1000
const day = 24 * hour

/** Removes what was kept for a time that is over, and enqueues deliveries that a process died before enqueuing. */
export const sweepHourly = (store: Store, webhooks: Webhooks, log: Logger) =>
  every(
    hour,
    async () => {
      await store.idempotencyKeys.sweep(Date.now() - day)
      await store.results.sweep()
      await webhooks.sweep()
      await webhooks.remind()
      await store.webSessions.sweep()
      await store.files.sweep(firstIdAt('bytes', Date.now() - day))
    },
    (err) => log.warn({ err }, 'could not sweep'),
  )
