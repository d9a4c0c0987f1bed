import type { Logger } from 'pino'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Shelves } from '../catalogue/shelf.ts'
import type { Store } from '../store/store.ts'
import type { Resolver } from './resolver.ts'

/** Changes often come in numbers: one look after the last is enough. */
const delay = 300
/** But nobody waits for the last of an endless row. */
const longest = 5000

export interface WarmParts {
  readonly store: Store
  readonly catalogue: Catalogue
  readonly shelves: Shelves
  readonly resolver: Resolver
  readonly log: Logger
}

/** Keeps the search of servers in agent mode ready: at the start, and whenever tools or servers have changed. */
export function keepWarm({ store, catalogue, shelves, resolver, log }: WarmParts): { close(): void } {
  let timer: NodeJS.Timeout | undefined
  let since = 0
  let isClosed = false

  const look = async () => {
    timer = undefined
    const { data } = await store.servers.list({ limit: 1000, offset: 0 }, undefined)
    for (const server of data.filter(({ enabled, agent_mode }) => enabled && agent_mode)) {
      if (isClosed) return
      await resolver.prepare(server.id, await shelves.of(server))
    }
  }
  const lookSoon = () => {
    if (isClosed) return
    if (timer === undefined) since = Date.now()
    if (Date.now() - since > longest) return
    clearTimeout(timer)
    // What went wrong is told to whoever asks for it.
    timer = setTimeout(() => look().catch((err: unknown) => log.debug({ err }, 'could not prepare the search')), delay)
    timer.unref()
  }

  store.notices.hear('servers', lookSoon)
  catalogue.onChange(lookSoon)
  lookSoon()
  return {
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
