import { useEffect, useRef } from 'react'

/** Handlers by key. Null blocks other layers and leaves the key to the browser. */
type Keys = Readonly<Record<string, (() => void) | null>>

/** The most recent layer handles a key first, for example a form above a list. */
const layers: { readonly current: Keys }[] = []

const isTyped = (target: Element) =>
  target.matches('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]')

function onKey(event: KeyboardEvent): void {
  const target = event.target instanceof Element ? event.target : document.body
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return
  if (document.querySelector('[role=dialog]') || isTyped(target)) return
  if (event.key === 'Enter' && target.closest('a, button, summary')) return
  if (event.key.startsWith('Arrow') && target.closest('pre, [role=tablist], [role=radiogroup]')) return
  // Key repeat works for moving only.
  if (event.repeat && !/^(Arrow|[jk]$)/.test(event.key)) return
  const run = layers.findLast(({ current }) => event.key in current)?.current[event.key]
  if (!run) return
  event.preventDefault()
  run()
}

/** Single-key shortcuts. They are off while the user types, while a dialog is open, and where the focused element needs the key. */
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
