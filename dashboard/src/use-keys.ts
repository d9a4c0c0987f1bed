import { useEffect, useRef } from 'react'

/** What each key does; null leaves it to the browser and to nobody else of ours. */
type Keys = Readonly<Record<string, (() => void) | null>>

/** What was shown last hears a key first, as a form over a list does. */
const layers: { readonly current: Keys }[] = []

const isTyped = (target: Element) =>
  target.matches('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]')

function onKey(event: KeyboardEvent): void {
  const target = event.target instanceof Element ? event.target : document.body
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return
  if (document.querySelector('[role=dialog]') || isTyped(target)) return
  if (event.key === 'Enter' && target.closest('a, button, summary')) return
  if (event.key.startsWith('Arrow') && target.closest('pre, [role=tablist], [role=radiogroup]')) return
  // To hold a key down moves on; it never decides again.
  if (event.repeat && !/^(Arrow|[jk]$)/.test(event.key)) return
  const run = layers.findLast(({ current }) => event.key in current)?.current[event.key]
  if (!run) return
  event.preventDefault()
  run()
}

/** Single keys that do something, unless somebody types, a dialog is open, or what has the focus wants the key itself. */
export function useKeys(keys: Keys, isOn = true): void {
  const layer = useRef(keys)
  layer.current = keys
  useEffect(() => {
    if (!isOn) return
    if (layers.push(layer) === 1) document.addEventListener('keydown', onKey)
    return () => {
      layers.splice(layers.indexOf(layer), 1)
      if (layers.length === 0) document.removeEventListener('keydown', onKey)
    }
  }, [isOn])
}
