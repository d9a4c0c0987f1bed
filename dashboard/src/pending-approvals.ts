import { useQuery } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { notifyOfApprovals } from './alerts.ts'
import { type ApprovalSummary, Failure, qm } from './api.ts'
import { learnTime } from './clock.ts'
import { type LiveState, useVisible } from './live.ts'
import { useProjectId } from './project.ts'
import { queries, setSession, useSession } from './queries.ts'

/** How often received approvals are passed on, and how often the count is reloaded. */
const intervalMs = 200
const countBeat = 1000

type Listener = (changed: readonly ApprovalSummary[]) => void
const listeners = new Set<Listener>()

/** Receives new and decided approvals in batches. An empty batch means that some may have been missed. */
export function onApprovals(listener: Listener): () => void {
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

/** The number of pending approvals that the user may see. Undefined until it is loaded. */
export function usePendingCount(): number | undefined {
  const projectId = useProjectId()
  const { data: session } = useSession()
  const { data } = useQuery({
    queryKey: [countKey, projectId],
    enabled: Boolean(session),
    // In case the stream missed something, and for tabs without a stream.
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
/** Reloads the count immediately, and then at most once per interval. */
function recount(): void {
  if (counting) return
  void queries.invalidateQueries({ queryKey: [countKey] })
  counting = setTimeout(() => {
    counting = undefined
    void queries.invalidateQueries({ queryKey: [countKey] })
  }, countBeat)
}

function publish(changed: readonly ApprovalSummary[], open: (id: string) => void): void {
  recount()
  for (const { id } of changed) void queries.invalidateQueries({ queryKey: ['approval', id] })
  for (const listener of listeners) listener(changed)
  const fresh = changed.filter(({ status, decisions }) => status === 'pending' && decisions.length === 0)
  notifyOfApprovals(
    fresh.map(({ id, action, principal }) => ({ id, action, who: principal.name })),
    open,
  )
}

/**
 * Listens for approvals on every page, for the count and the notifications. Browsers limit the connections of all tabs
 * together, so only one of the hidden tabs listens, and the others poll.
 */
export function useApprovalStream(open: (id: string) => void): void {
  const projectId = useProjectId()
  const isVisible = useVisible()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    const run = () => listen(projectId, signal, open)
    if (isVisible) void run()
    else void navigator.locks?.request('qm-approvals', { signal }, run).catch(() => {})
    return () => {
      controller.abort()
      setState('off')
    }
  }, [projectId, isVisible, open])
}

async function listen(projectId: string | undefined, signal: AbortSignal, open: (id: string) => void): Promise<void> {
  let received = new Map<string, ApprovalSummary>()
  const timer = setInterval(() => {
    if (received.size === 0) return
    const changed = [...received.values()]
    received = new Map()
    publish(changed, open)
  }, intervalMs)
  signal.addEventListener('abort', () => clearInterval(timer))

  for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 20_000)) {
    const query = projectId ? { project_id: projectId } : {}
    const { data, response } = await qm.approvals.streamApprovals({ query, signal })
    if (signal.aborted) return
    if (response?.status === 401) return setSession(null)
    if (data) {
      setState('live')
      wait = 1000
      publish([], open)
      try {
        for await (const event of data) received.set(event.data.id, event.data)
      } catch {
        // The stream broke. The loop reconnects.
      }
    }
    if (signal.aborted) return
    setState('waiting')
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}
