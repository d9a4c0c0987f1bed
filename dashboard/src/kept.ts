import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()

/** What this browser remembers being switched on or off. */
export const isKept = (place: string, unlessSaid = false): boolean => {
  const kept = localStorage.getItem(place)
  return kept === null ? unlessSaid : kept === 'on'
}

export function keep(place: string, isOn: boolean): void {
  localStorage.setItem(place, isOn ? 'on' : 'off')
  for (const listener of listeners) listener()
}

export const useKept = (place: string, unlessSaid = false): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      window.addEventListener('storage', listener)
      return () => {
        listeners.delete(listener)
        window.removeEventListener('storage', listener)
      }
    },
    () => isKept(place, unlessSaid),
  )
