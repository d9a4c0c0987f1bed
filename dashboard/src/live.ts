import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { type CallSummary, qm } from './api.ts'
import { become } from './queries.ts'

export type LiveState = 'off' | 'live' | 'waiting'

const onVisibility = (listener: () => void) => {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}
const isVisible = () => document.visibilityState === 'visible'

/** A browser opens only a few connections to one host, so a page that nobody looks at gives its own back. */
export const useVisible = (): boolean => useSyncExternalStore(onVisibility, isVisible)

type Query = NonNullable<Parameters<typeof qm.calls.streamCalls>[0]>['query']

/** How often what came in is handed on: people do not read faster, and drawing costs. */
const beat = 250

/** Calls as they begin and end, a few at a time. Connects again, more and more patiently, when the stream breaks. */
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
    let heard: CallSummary[] = []
    const timer = setInterval(() => {
      if (heard.length === 0) return
      const calls = heard
      heard = []
      handler.current(calls)
    }, beat)

    const listen = async () => {
      for (let wait = 1000; !signal.aborted; wait = Math.min(wait * 2, 20_000)) {
        const { data, response } = await qm.calls.streamCalls({ query: JSON.parse(key), signal })
        if (response?.status === 401) return become(null)
        if (data) {
          setState('live')
          wait = 1000
          try {
            for await (const event of data) heard.push(event.data)
          } catch {
            // It broke off: it is asked for again below.
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
