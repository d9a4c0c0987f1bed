import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { askAll, qm, type Tool } from '../../api.ts'
import { plural } from '../../format.ts'
import { typeOf, useToolTypes } from '../../tool-types.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'

/** The names under which a model calls the actions of each tool, as far as they are known. */
export function useModelNames(tools: readonly Tool[]): ReadonlyMap<string, readonly string[]> {
  // Tools with a single action use the tool's own name. Only the others need a request.
  const { data: types } = useToolTypes()
  const many = tools.filter((tool) => typeOf(tool, types)?.many_actions)
  const actionQueries = useQueries({
    queries: many.map(({ id }) => ({
      queryKey: ['tool-actions', id],
      queryFn: () => askAll((page) => qm.tools.listToolActions({ path: { tool_id: id }, query: page })),
    })),
  })
  const single = tools.filter((tool) => !many.includes(tool))
  // If tools of several apps share a name, the app becomes a prefix.
  const isOnly = (name: string) => single.filter((tool) => tool.name === name).length === 1
  const names = new Map<string, readonly string[]>(
    single.map(({ id, name, app }) => [id, [isOnly(name) ? name : `${app}_${name}`]]),
  )
  for (const [index, { data }] of actionQueries.entries()) {
    const id = many[index]?.id
    if (data && id)
      names.set(
        id,
        data.filter(({ withheld }) => !withheld).map(({ tool_name }) => tool_name),
      )
  }
  return names
}

const maxTools = 200
const maxNames = 8

export function ToolPicker({
  tools,
  chosen,
  onChange,
  names,
  error,
}: {
  tools: readonly Tool[]
  chosen: readonly string[]
  onChange: (ids: readonly string[]) => void
  names: ReadonlyMap<string, readonly string[]>
  error: string | undefined
}) {
  const [text, setText] = useState('')
  const [isOnlyChosen, setOnlyChosen] = useState(false)
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = tools.filter(
    ({ id, name, app, type, description }) =>
      (!isOnlyChosen || chosen.includes(id)) &&
      words.every((word) => `${name} ${app} ${type} ${description ?? ''}`.toLowerCase().includes(word)),
  )
  const missing = chosen.filter((id) => !tools.some((tool) => tool.id === id))
  const toggle = (id: string, isOn: boolean) => onChange(isOn ? [...chosen, id] : chosen.filter((one) => one !== id))
  return (
    <div>
      <div className="mb-2 flex flex-wrap gap-2">
        <input
          type="search"
          aria-label="Search tools"
          placeholder="Name, app or description"
          className="control min-w-48 flex-1"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button aria-pressed={isOnlyChosen} onClick={() => setOnlyChosen(!isOnlyChosen)}>
          {isOnlyChosen ? 'Show all' : 'Selected only'}
        </Button>
      </div>
      {error && <p className="mb-2 text-xs break-words text-bad">{error}</p>}
      <ul className="max-h-96 divide-y divide-line overflow-y-auto rounded-md border border-line">
        {missing.map((id) => (
          <li key={id} className="flex items-center justify-between gap-2 px-3 py-2 text-sm">
            <span className="min-w-0">
              <code className="font-mono text-xs break-all">{id}</code>{' '}
              <span className="text-xs text-soft">was deleted, or you have no access</span>
            </span>
            <Button variant="quiet" onClick={() => toggle(id, false)}>
              Remove
            </Button>
          </li>
        ))}
        {found.slice(0, maxTools).map((tool) => (
          <Choice
            key={tool.id}
            tool={tool}
            isOn={chosen.includes(tool.id)}
            names={names.get(tool.id)}
            onChange={(isOn) => toggle(tool.id, isOn)}
          />
        ))}
        {found.length === 0 && missing.length === 0 && (
          <li className="px-3 py-4 text-center text-sm text-soft">
            {tools.length === 0 ? 'No tools yet. An agent also works without tools.' : 'No tools found.'}
          </li>
        )}
      </ul>
      {found.length > maxTools && (
        <p className="mt-1 text-xs text-soft">
          {plural(found.length - maxTools, 'more tool')}. Search to narrow the list.
        </p>
      )}
    </div>
  )
}

const Choice = ({
  tool,
  isOn,
  names,
  onChange,
}: {
  tool: Tool
  isOn: boolean
  names: readonly string[] | undefined
  onChange: (isOn: boolean) => void
}) => (
  <li>
    <label className="flex cursor-pointer items-start gap-2.5 px-3 py-2 text-sm hover:bg-hover">
      <input
        type="checkbox"
        aria-label={tool.name}
        className="mt-1 accent-accent"
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-center gap-1.5">
          <span className="font-medium break-all">{tool.name}</span>
          <Badge>{tool.type}</Badge>
          {!tool.auto_approve && <Badge tone="warn">requires approval</Badge>}
        </span>
        <span className="line-clamp-1 text-xs break-words text-soft">{tool.description}</span>
        {isOn && <Names names={names} />}
      </span>
    </label>
  </li>
)

const Names = ({ names }: { names: readonly string[] | undefined }) => (
  <span className="mt-1 block text-xs text-soft">
    {names === undefined ? (
      'The actions could not be loaded.'
    ) : (
      <>
        Tool names:{' '}
        {names.slice(0, maxNames).map((name, index) => (
          <span key={name}>
            {index > 0 && ', '}
            <code className="font-mono break-all text-ink">{name}</code>
          </span>
        ))}
        {names.length > maxNames && ` and ${names.length - maxNames} more`}
      </>
    )}
  </span>
)
