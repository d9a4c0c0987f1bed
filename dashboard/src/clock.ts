import { useSyncExternalStore } from 'react'

/** How far the platform's clock is ahead of this one, in milliseconds. */
let ahead = 0

/** Reads the platform's time from a response. The Date header has whole seconds, so differences below two are ignored. */
export function learnTime(response: Response | undefined): void {
  const serverTime = Date.parse(response?.headers.get('date') ?? '')
  if (Number.isNaN(serverTime)) return
  const difference = serverTime + 500 - Date.now()
  ahead = Math.abs(difference) < 2000 ? 0 : difference
}

/** The current time of the platform, which sets the deadlines. */
export const platformNow = (): number => Date.now() + ahead

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
const thisSecond = () => Math.floor(platformNow() / 1000) * 1000
let second = thisSecond()

/** The platform's time, updated every second. */
export const useNow = (): number =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      timer ??= setInterval(() => {
        second = thisSecond()
        for (const each of listeners) each()
      }, 1000)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
    () => {
      if (timer === undefined) second = thisSecond()
      return second
    },
  )
