import { useSyncExternalStore } from 'react'

/** How far the platform's clock is ahead of this one, in milliseconds. */
let ahead = 0

/** Learns from an answer what time it is at the platform. Its clock says seconds, so less than two is no difference. */
export function learnTime(response: Response | undefined): void {
  const said = Date.parse(response?.headers.get('date') ?? '')
  if (Number.isNaN(said)) return
  const difference = said + 500 - Date.now()
  ahead = Math.abs(difference) < 2000 ? 0 : difference
}

/** Deadlines are the platform's, so it is its clock that counts. */
export const platformNow = (): number => Date.now() + ahead

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
const thisSecond = () => Math.floor(platformNow() / 1000) * 1000
let second = thisSecond()

/** The platform's time, a second at a time. */
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
