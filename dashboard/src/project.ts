import { useSyncExternalStore } from 'react'

const place = 'qm-project'
const listeners = new Set<() => void>()

const now = () => localStorage.getItem(place) ?? undefined

/** The selected project. Undefined for all projects. */
export const useProjectId = (): string | undefined =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, now)

export function chooseProject(id: string | undefined): void {
  if (id) localStorage.setItem(place, id)
  else localStorage.removeItem(place)
  for (const listener of listeners) listener()
}
