import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type ApprovalSummary, ask, qm } from '../../api.ts'
import { useNow } from '../../clock.ts'
import { onApprovals, usePendingCount } from '../../pending-approvals.ts'
import { useProjectId } from '../../project.ts'

const pageSize = 500
/** Pages are requested by offset. Decisions in between move the rest up, so pages overlap. */
const overlap = 50

type PendingById = ReadonlyMap<string, ApprovalSummary>
interface Held {
  readonly known: PendingById
  /** Whether all approvals are loaded. */
  readonly isWhole: boolean
}

export interface Pending {
  readonly list: readonly ApprovalSummary[]
  /** Including those that are not loaded yet. */
  readonly total: number
  readonly isWhole: boolean
  readonly error: unknown
  readonly isLoaded: boolean
  loadMore(): void
  reload(): void
  /** Removes an approval immediately, before the stream reports it. */
  drop(id: string): void
}

/**
 * The pending approvals, kept up to date by the stream: decided ones leave and new ones join. If there are very many, only
 * the newest are loaded until the user scrolls.
 */
export function usePending(): Pending {
  const projectId = useProjectId()
  const waiting = usePendingCount()
  const now = useNow()
  const [held, setHeld] = useState<Held>()
  const [error, setError] = useState<unknown>()
  const loading = useRef(false)
  const decided = useRef(new Set<string>())

  const load = useCallback(
    async (isFirst: boolean, loaded: PendingById, signal?: AbortSignal) => {
      if (loading.current && !isFirst) return
      loading.current = true
      try {
        const offset = isFirst ? 0 : Math.max(0, loaded.size - overlap)
        const query = {
          status: 'pending' as const,
          limit: pageSize,
          offset,
          ...(projectId && { project_id: projectId }),
        }
        const page = await ask(qm.approvals.listApprovals({ query, ...(signal && { signal }) }))
        if (signal?.aborted) return
        const isWhole = offset + page.data.length >= page.total
        setHeld((before) => {
          const known = new Map(isFirst ? [] : before?.known)
          for (const one of page.data) if (!decided.current.has(one.id)) known.set(one.id, one)
          return { known, isWhole }
        })
        setError(undefined)
      } catch (reason) {
        if (!signal?.aborted) setError(reason)
      } finally {
        loading.current = false
      }
    },
    [projectId],
  )

  const [round, setRound] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round reloads the list after the stream may have missed something
  useEffect(() => {
    const controller = new AbortController()
    void load(true, new Map(), controller.signal)
    return () => controller.abort()
  }, [load, round])

  useEffect(
    () =>
      onApprovals((changed) => {
        if (changed.length === 0) return setRound((before) => before + 1)
        for (const { id, status } of changed) if (status !== 'pending') decided.current.add(id)
        setHeld((before) => before && { ...before, known: changedBy(before, changed) })
      }),
    [],
  )

  const sorted = useMemo(() => {
    const isSooner = (a: ApprovalSummary, b: ApprovalSummary) =>
      a.expires_at === b.expires_at ? (a.id < b.id ? -1 : 1) : a.expires_at < b.expires_at ? -1 : 1
    // The most urgent one is known only if all are loaded.
    return [...(held?.known.values() ?? [])].sort(held?.isWhole ? isSooner : (a, b) => (a.id < b.id ? 1 : -1))
  }, [held])
  const list = useMemo(() => {
    const time = new Date(now).toISOString()
    return sorted.every(({ expires_at }) => expires_at > time)
      ? sorted
      : sorted.filter(({ expires_at }) => expires_at > time)
  }, [sorted, now])

  const isWhole = held?.isWhole ?? true
  return {
    list,
    total: isWhole ? list.length : Math.max(list.length, waiting ?? 0),
    isWhole,
    error: held ? undefined : error,
    isLoaded: held !== undefined,
    loadMore: () => held && !held.isWhole && void load(false, held.known),
    reload: () => setRound((before) => before + 1),
    drop: useCallback((id: string) => {
      decided.current.add(id)
      setHeld((before) => {
        if (!before?.known.has(id)) return before
        const known = new Map(before.known)
        known.delete(id)
        return { ...before, known }
      })
    }, []),
  }
}

function changedBy({ known, isWhole }: Held, changed: readonly ApprovalSummary[]): PendingById {
  const next = new Map(known)
  let oldest = ''
  if (!isWhole) for (const id of known.keys()) if (oldest === '' || id < oldest) oldest = id
  for (const one of changed) {
    if (one.status !== 'pending') next.delete(one.id)
    // Older ones arrive with their page.
    else if (one.id >= oldest) next.set(one.id, one)
  }
  return next
}
