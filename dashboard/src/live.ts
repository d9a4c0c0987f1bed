import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { type CallSummary, qm } from './api.ts'
import { setSession } from './queries.ts'

export type LiveState = 'off' | 'live' | 'waiting'

const onVisibility = (listener: () => void) => {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}
const isVisible = () => document.visibilityState === 'visible'

/** Browsers limit connections per host, so a hidden page closes its stream. */
export const useVisible = (): boolean => useSyncExternalStore(onVisibility, isVisible)

type Query = NonNullable<Parameters<typeof qm.calls.streamCalls>[0]>['query']

/** How often received calls are passed on. Rendering more often would cost time without being readable. */
const batchMs = 250

/** Calls as they begin and end, in batches. Reconnects with backoff when the stream breaks. */
export function useCallStream(
  query: Query,
  onCalls: (calls: readonly CallSummary[]) => void,
  isWanted = true,
): LiveState {
  const [state, setState] = useState<LiveState>('off')
  const handler = useRef(onCalls)
  handler.current = onCalls
  const isOn = useVisible() && isWanted
  const key = JSON.stringify(query)

  useEffect(() => {
    if (!isOn) return setState('off')
    const controller = new AbortController()
    const { signal } = controller
    let received: CallSummary[] = []
    const timer = setInterval(() => {
      if (received.length === 0) return
      const calls = received
      received = []
      handler.current(calls)
    }, batchMs)

    const listen = async () => {
      for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 20_000)) {
        const { data, response } = await qm.calls.streamCalls({ query: JSON.parse(key), signal })
        if (response?.status === 401) return setSession(null)
        if (data) {
          setState('live')
          wait = 1000
          try {
            for await (const event of data) received.push(event.data)
          } catch {
            // The stream broke. The loop reconnects.
          }
        }
        if (signal.aborted) return
        setState('waiting')
        await new Promise((resolve) => setTimeout(resolve, wait))
      }
    }
    void listen()
    return () => {
      controller.abort()
      clearInterval(timer)
    }
  }, [isOn, key])
  return state
}
