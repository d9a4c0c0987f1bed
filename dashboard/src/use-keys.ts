import { useEffect, useRef } from 'react'

type Keys = Readonly<Record<string, () => void>>

const isTyped = (target: Element) =>
  target.matches('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]')

/** Single keys that do something, unless somebody types, a dialog is open, or what has the focus wants the key itself. */
export function useKeys(keys: Keys, isOn = true): void {
  const now = useRef(keys)
  now.current = keys
  useEffect(() => {
    if (!isOn) return
    const onKey = (event: KeyboardEvent) => {
      const run = now.current[event.key]
      const target = event.target instanceof Element ? event.target : document.body
      if (!run || event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return
      if (document.querySelector('[role=dialog]') || isTyped(target)) return
      if (event.key === 'Enter' && target.closest('a, button, summary')) return
      if (event.key.startsWith('Arrow') && target.closest('pre, [role=tablist], [role=radiogroup]')) return
      // To hold a key down moves on; it never decides again.
      if (event.repeat && !/^(Arrow|[jk]$)/.test(event.key)) return
      event.preventDefault()
      run()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [isOn])
}
