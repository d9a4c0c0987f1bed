import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { ConnectionKeeper } from './credentials/connections/keeper.ts'
import { every } from './lib/every.ts'
import { firstIdAt } from './model/ids.ts'
import type { Store } from './store/store.ts'
import type { Webhooks } from './webhooks/webhooks.ts'

const hour = 60 * 60 * 1000
const day = 24 * hour

interface SweepDeps {
  readonly store: Store
  readonly webhooks: Webhooks
  readonly keeper: ConnectionKeeper
  readonly config: Pick<Config, 'callRetentionDays' | 'sessionRetentionDays'>
}

export const runHousekeeping = (deps: SweepDeps, log: Logger) =>
  every(
    hour,
    () => sweep(deps),
    (err) => log.warn({ err }, 'the hourly cleanup failed'),
  )

/** Deletes expired data, and enqueues webhook deliveries that were stored by a process that crashed before enqueuing them. */
export async function sweep({ store, webhooks, keeper, config }: SweepDeps): Promise<void> {
  await store.idempotencyKeys.sweep(Date.now() - day)
  await store.results.sweep()
  await webhooks.sweep()
  await webhooks.remind()
  await store.webSessions.sweep()
  await store.oauthArtifacts.sweep()
  await store.oauthGrants.sweep()
  await store.connectLinks.sweep(Date.now() - day)
  await keeper.remind()
  await store.trustedIssuers.sweep()
  await store.files.sweep(firstIdAt('bytes', Date.now() - day))
  await store.apiSnapshots.sweep(Date.now() - day)
  const { callRetentionDays, sessionRetentionDays } = config
  if (sessionRetentionDays > 0) await store.sessions.removeBefore(Date.now() - sessionRetentionDays * day)
  if (callRetentionDays > 0) {
    const before = Date.now() - callRetentionDays * day
    await store.calls.removeBefore(before)
    await store.workflowRuns.removeBefore(before)
  }
}
