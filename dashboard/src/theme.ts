import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const place = 'qm-theme'
const listeners = new Set<() => void>()

export const themeNow = (): Theme => {
  const kept = localStorage.getItem(place)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(): void {
  const theme = themeNow()
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(place, theme)
  applyTheme()
  for (const listener of listeners) listener()
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, themeNow)
