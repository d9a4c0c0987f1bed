import type { Logger } from 'pino'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { ServerCatalogues } from '../catalogue/server-catalogue.ts'
import type { Store } from '../store/store.ts'
import type { Resolver } from './resolver.ts'

/** Debounce: changes often come in bursts, and one update after the last is enough. */
const delay = 300
/** The longest that a continuous series of changes can postpone the update. */
const longest = 5000

export interface WarmDeps {
  readonly store: Store
  readonly catalogue: Catalogue
  readonly serverCatalogues: ServerCatalogues
  readonly resolver: Resolver
  readonly log: Logger
}

/** Keeps the search index of servers in agent mode up to date: at startup, and whenever tools or servers change. */
export function keepWarm({ store, catalogue, serverCatalogues, resolver, log }: WarmDeps): { close(): void } {
  let timer: NodeJS.Timeout | undefined
  let since = 0
  let isClosed = false

  const look = async () => {
    timer = undefined
    const { data } = await store.servers.list({ limit: 1000, offset: 0 }, undefined)
    resolver.keepOnly(new Set(data.map(({ id }) => id)))
    for (const server of data.filter(({ enabled, agent_mode }) => enabled && agent_mode)) {
      if (isClosed) return
      await resolver.prepare(server.id, await serverCatalogues.of(server))
    }
  }
  const lookSoon = () => {
    if (isClosed) return
    if (timer === undefined) since = Date.now()
    if (Date.now() - since > longest) return
    clearTimeout(timer)
    // Only logged: a search that hits the same problem reports it to its caller.
    timer = setTimeout(() => look().catch((err: unknown) => log.debug({ err }, 'could not prepare the search')), delay)
    timer.unref()
  }

  store.changes.subscribe('servers', lookSoon)
  catalogue.onChange(lookSoon)
  lookSoon()
  return {
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
