import { Tabs as Radix } from 'radix-ui'
import type { ReactNode } from 'react'

export interface Tab {
  readonly id: string
  readonly label: ReactNode
  readonly content: () => ReactNode
}

export const Tabs = ({
  tabs,
  value,
  onChange,
  label,
}: {
  tabs: readonly Tab[]
  value: string
  onChange: (id: string) => void
  label: string
}) => (
  <Radix.Root value={value} onValueChange={onChange}>
    <Radix.List aria-label={label} className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
      {tabs.map(({ id, label: name }) => (
        <Radix.Trigger
          key={id}
          value={id}
          className="-mb-px border-b-2 border-transparent px-3 py-2 text-sm font-medium whitespace-nowrap text-soft -outline-offset-2 hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
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
