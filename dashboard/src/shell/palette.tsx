import { useNavigate } from '@tanstack/react-router'
import { Dialog } from 'radix-ui'
import { type KeyboardEvent, useState } from 'react'
import { destinationsFor } from '../nav.ts'
import { useAgents } from '../pages/agents/records.ts'
import { useServers, useSession, useSkills, useTools } from '../queries.ts'

interface Item {
  readonly key: string
  readonly label: string
  readonly kind: string
  readonly to: string
}

/** Quick navigation to pages and records. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const { data: session } = useSession()
  const { data: tools = [] } = useTools()
  const { data: servers = [] } = useServers()
  const { data: skills = [] } = useSkills()
  const { data: agents = [] } = useAgents()

  const items: Item[] = [
    ...(session ? destinationsFor(session) : []).map(({ to, label }) => ({ key: to, label, kind: 'page', to })),
    { key: 'generations', label: 'Generations', kind: 'page', to: '/generations' },
    { key: 'ai providers', label: 'AI providers', kind: 'page', to: '/ai-providers' },
    { key: 'new tool', label: 'New tool', kind: 'action', to: '/tools/new' },
    { key: 'new server', label: 'New server', kind: 'action', to: '/servers/new' },
    { key: 'new agent', label: 'New agent', kind: 'action', to: '/agents/new' },
    ...tools.map(({ id, name }) => ({ key: id, label: name, kind: 'tool', to: `/tools/${id}` })),
    ...servers.map(({ id, name }) => ({ key: id, label: name, kind: 'server', to: `/servers/${id}` })),
    ...agents.map(({ id, name }) => ({ key: id, label: name, kind: 'agent', to: `/agents/${id}` })),
    ...skills.map(({ id, name }) => ({ key: id, label: name, kind: 'skill', to: `/skills/${id}` })),
  ]
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = items
    .filter(({ label, kind }) => words.every((word) => `${label} ${kind}`.toLowerCase().includes(word)))
    .slice(0, 12)

  const go = (item: Item | undefined) => {
    if (!item) return
    onClose()
    void navigate({ to: item.to })
  }
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setAt((at + step + found.length) % Math.max(1, found.length))
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      go(found[at])
    }
  }

  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <div aria-hidden="true" className="fixed inset-0 z-40 bg-[#0009]" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed top-[12dvh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-lg -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-panel shadow-2xl"
        >
          <Dialog.Title className="sr-only">Go to a page, tool, server, agent or skill</Dialog.Title>
          <input
            role="combobox"
            aria-label="Go to"
            aria-expanded="true"
            aria-controls="palette"
            aria-activedescendant={found[at] && `palette-${at}`}
            placeholder="A page, tool, server, agent or skill"
            className="w-full border-b border-line bg-panel px-4 py-3 text-base -outline-offset-2"
            value={text}
            onChange={(event) => {
              setText(event.target.value)
              setAt(0)
            }}
            onKeyDown={onKey}
          />
          <div
            id="palette"
            role="listbox"
            aria-label="Results"
            tabIndex={-1}
            className="max-h-[50dvh] overflow-y-auto p-1.5"
          >
            {found.map((item, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field above keeps the focus and handles the keys
              <div
                key={item.key}
                id={`palette-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === at}
                onClick={() => go(item)}
                onMouseMove={() => setAt(index)}
                className="flex cursor-pointer items-center justify-between gap-3 rounded-md px-2.5 py-1.5 aria-selected:bg-accent-wash aria-selected:text-accent"
              >
                <span className="truncate">{item.label}</span>
                <span className="text-xs text-soft">{item.kind}</span>
              </div>
            ))}
            {found.length === 0 && <p className="px-2.5 py-3 text-sm text-soft">No results.</p>}
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
