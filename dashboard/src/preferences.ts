import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()

/** A setting that is stored in this browser. */
export const isEnabled = (place: string, fallback = false): boolean => {
  const kept = localStorage.getItem(place)
  return kept === null ? fallback : kept === 'on'
}

export function setPreference(place: string, isOn: boolean): void {
  localStorage.setItem(place, isOn ? 'on' : 'off')
  for (const listener of listeners) listener()
}

export const usePreference = (place: string, fallback = false): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      window.addEventListener('storage', listener)
      return () => {
        listeners.delete(listener)
        window.removeEventListener('storage', listener)
      }
    },
    () => isEnabled(place, fallback),
  )
