import { useState } from 'react'
import type { CallSummary } from '../../api.ts'
import { plural } from '../../format.ts'
import { useMay } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { MakeWorkflow } from './make-workflow.tsx'
import { nameOf } from './rows.tsx'

/** The ids of the selected calls. Undefined while nothing can be selected. */
export type Selected = ReadonlySet<string> | undefined

export interface Selection {
  readonly selected: ReadonlySet<string>
  onChange(selected: Selected): void
}

/** Covers a row of the list, so that a click selects it instead of opening it. */
export function SelectCall({ call, selection }: { call: CallSummary; selection: Selection }) {
  const { selected, onChange } = selection
  const isSelected = selected.has(call.id)
  const isDisabled = call.status !== 'success' || call.request_truncated || call.tool_id === null
  const toggle = () =>
    onChange(new Set(isSelected ? [...selected].filter((id) => id !== call.id) : [...selected, call.id]))
  return (
    <label className={`absolute inset-0 z-10 flex items-center pl-4 ${isSelected ? 'bg-accent/10' : ''}`}>
      <input
        type="checkbox"
        className="size-4 accent-accent"
        aria-label={`Select ${nameOf(call)}`}
        title={isDisabled ? 'Only successful calls of a tool can be part of a workflow' : undefined}
        checked={isSelected}
        disabled={isDisabled}
        onChange={toggle}
      />
    </label>
  )
}

/** Starts a selection of calls, and makes a workflow of it. */
export function SelectionBar({ selected, onChange }: { selected: Selected; onChange: (selected: Selected) => void }) {
  const [isMaking, setMaking] = useState(false)
  if (!useMay('calls:GetCall')) return null
  return (
    <div className="mb-2 flex flex-wrap items-center gap-2 text-sm">
      {selected ? (
        <>
          <span role="status">{plural(selected.size, 'call')} selected</span>
          <Button variant="main" disabled={selected.size === 0} onClick={() => setMaking(true)}>
            Make a workflow
          </Button>
          <Button variant="quiet" onClick={() => onChange(undefined)}>
            Cancel
          </Button>
        </>
      ) : (
        <Button icon="workflows" onClick={() => onChange(new Set())}>
          Select calls for a workflow
        </Button>
      )}
      {isMaking && selected && <MakeWorkflow callIds={[...selected]} onClose={() => setMaking(false)} />}
    </div>
  )
}
