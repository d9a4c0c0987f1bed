import { Tabs as Radix } from 'radix-ui'
import { type ReactNode, useEffect, useRef } from 'react'

export interface Tab {
  readonly id: string
  readonly label: ReactNode
  readonly content: () => ReactNode
}

export function Tabs({
  tabs,
  value,
  onChange,
  label,
}: {
  tabs: readonly Tab[]
  value: string
  onChange: (id: string) => void
  label: string
}) {
  const list = useRef<HTMLDivElement>(null)
  // On a phone the tabs may not fit. Keep the open one in view.
  useEffect(() => {
    const shown = list.current
    const open = shown?.querySelector<HTMLElement>(`[data-tab="${value}"]`)
    if (shown && open)
      shown.scrollLeft = open.offsetLeft - shown.offsetLeft - (shown.clientWidth - open.offsetWidth) / 2
  }, [value])
  return (
    <Radix.Root value={value} onValueChange={onChange}>
      <Radix.List ref={list} aria-label={label} className="tab-list mb-4">
        {tabs.map(({ id, label: name }) => (
          <Radix.Trigger
            key={id}
            value={id}
            data-tab={id}
            className="tab data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {name}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(({ id, content }) => (
        <Radix.Content key={id} value={id} tabIndex={-1}>
          {id === value && content()}
        </Radix.Content>
      ))}
    </Radix.Root>
  )
}
