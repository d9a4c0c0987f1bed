import { useState } from 'react'
import { useOperations } from '../../operations.ts'

interface Props {
  readonly value: unknown
  readonly error: string | undefined
  onChange(actions: readonly string[]): void
}

/** Selects operations of the platform as actions. */
export function PlatformActions({ value, error, onChange }: Props) {
  const { data: operations = [] } = useOperations()
  const [text, setText] = useState('')
  const chosen = Array.isArray(value) ? (value as string[]) : []
  const actions = operations.filter(
    ({ isAction, command, summary }) => isAction && `${command} ${summary}`.toLowerCase().includes(text.toLowerCase()),
  )
  const toggle = (command: string, isOn: boolean) =>
    onChange(isOn ? [...chosen, command] : chosen.filter((one) => one !== command))
  return (
    <>
      <div className="mb-2 flex items-center gap-3">
        <input
          type="search"
          aria-label="Search actions"
          placeholder="Search actions"
          className="control"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <span className="shrink-0 text-sm text-soft">{chosen.length} chosen</span>
      </div>
      {error && <p className="mb-2 text-xs text-bad">{error}</p>}
      <ul className="grid max-h-72 gap-x-4 overflow-y-auto sm:grid-cols-2">
        {actions.map(({ command, summary }) => (
          <li key={command}>
            <label className="flex items-start gap-2 rounded-md px-1 py-1 text-sm hover:bg-hover">
              <input
                type="checkbox"
                className="mt-1 accent-accent"
                checked={chosen.includes(command)}
                onChange={(event) => toggle(command, event.target.checked)}
              />
              <span className="min-w-0">
                <code className="font-mono text-xs font-semibold">{command}</code>
                <span className="block text-xs text-soft">{summary}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </>
  )
}
