import { useQuery } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { alertOf } from './alerts.ts'
import { type ApprovalSummary, Failure, qm } from './api.ts'
import { learnTime } from './clock.ts'
import { type LiveState, useVisible } from './live.ts'
import { useProjectId } from './project.ts'
import { become, queries, useSession } from './queries.ts'

/** How often what came in is handed on, and the number is asked for again. */
const beat = 200
const countBeat = 1000

type Listener = (changed: readonly ApprovalSummary[]) => void
const listeners = new Set<Listener>()

/** Approvals that were asked for or decided, a few at a time; an empty list where some may have been missed. */
export function hearApprovals(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

let state: LiveState = 'off'
const watchers = new Set<() => void>()
function setState(next: LiveState): void {
  state = next
  for (const watcher of watchers) watcher()
}

export const useApprovalsLive = (): LiveState =>
  useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => state,
  )

const countKey = 'approvals-waiting'

/** How many calls wait for a person, as far as one may see them. Undefined until it is known. */
export function useWaiting(): number | undefined {
  const projectId = useProjectId()
  const { data: session } = useSession()
  const { data } = useQuery({
    queryKey: [countKey, projectId],
    enabled: Boolean(session),
    // For whatever the stream has missed, and for tabs that have none.
    refetchInterval: 20_000,
    refetchIntervalInBackground: true,
    queryFn: async () => {
      const query = { status: 'pending' as const, limit: 1, ...(projectId && { project_id: projectId }) }
      const { data: page, error, response } = await qm.approvals.listApprovals({ query })
      if (error) throw new Failure(error, response?.status)
      learnTime(response)
      return page?.total ?? 0
    },
  })
  return data
}

let counting: ReturnType<typeof setTimeout> | undefined
/** Asks for the number again: at once, and then no oftener than people can read. */
function recount(): void {
  if (counting) return
  void queries.invalidateQueries({ queryKey: [countKey] })
  counting = setTimeout(() => {
    counting = undefined
    void queries.invalidateQueries({ queryKey: [countKey] })
  }, countBeat)
}

function handOn(changed: readonly ApprovalSummary[], open: (id: string) => void): void {
  recount()
  for (const { id } of changed) void queries.invalidateQueries({ queryKey: ['approval', id] })
  for (const listener of listeners) listener(changed)
  const fresh = changed.filter(({ status, decisions }) => status === 'pending' && decisions.length === 0)
  alertOf(
    fresh.map(({ id, action, principal }) => ({ id, action, who: principal.name })),
    open,
  )
}

/**
 * Listens for approvals, on whatever page one is, so that the number is right and the sound comes. A browser has few
 * connections for all of its tabs, so of those that nobody looks at one listens, and the others ask now and then.
 */
export function useWaitingFeed(open: (id: string) => void): void {
  const projectId = useProjectId()
  const isSeen = useVisible()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const run = () => listen(projectId, signal, open)
    if (isSeen) void run()
    else void navigator.locks?.request('qm-approvals', { signal }, run).catch(() => {})
    return () => {
      controller.abort()
      setState('off')
    }
  }, [projectId, isSeen, open])
}

async function listen(projectId: string | undefined, signal: AbortSignal, open: (id: string) => void): Promise<void> {
  let heard = new Map<string, ApprovalSummary>()
  const timer = setInterval(() => {
    if (heard.size === 0) return
    const changed = [...heard.values()]
    heard = new Map()
    handOn(changed, open)
  }, beat)
  signal.addEventListener('abort', () => clearInterval(timer))

  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 20_000)) {
    const query = projectId ? { project_id: projectId } : {}
    const { data, response } = await qm.approvals.streamApprovals({ query, signal })
    if (signal.aborted) return
    if (response?.status === 401) return become(null)
    if (data) {
      setState('live')
      wait = 1000
      handOn([], open)
      try {
        for await (const event of data) heard.set(event.data.id, event.data)
      } catch {
        // It broke off: it is asked for again below.
      }
    }
    if (signal.aborted) return
    setState('waiting')
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}
