import { useState } from 'react'
import type { Schema } from '../../schema-form/schema.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { JsonField } from '../../ui/json-field.tsx'

interface Line {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

const simple = ['string', 'number', 'integer', 'boolean']

/** The schema as form rows. Undefined if rows cannot represent it. */
function linesOf(schema: unknown): Line[] | undefined {
  if (schema === null) return []
  const { type, properties = {}, required = [], ...more } = (schema ?? {}) as Schema
  if ((type !== undefined && type !== 'object') || Object.keys(more).length > 0) return undefined
  const lines = Object.entries(properties).map(([name, property]) => {
    const { type: kind, description = '', ...rest } = property
    const fits = typeof kind === 'string' && simple.includes(kind) && Object.keys(rest).length === 0
    return fits ? { name, type: kind, description, isRequired: required.includes(name) } : undefined
  })
  return lines.some((line) => line === undefined) ? undefined : (lines as Line[])
}

const schemaOf = (lines: readonly Line[]): Schema => {
  const named = lines.filter(({ name }) => name !== '')
  const required = named.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(
      named.map(({ name, type, description }) => [name, { type, ...(description && { description }) }]),
    ),
    ...(required.length > 0 && { required }),
  }
}

/** Edits the input of a tool as rows, or as JSON Schema if rows cannot represent it. */
export function ParametersField({
  value,
  onChange,
  error,
}: {
  value: unknown
  onChange: (value: unknown) => void
  error: string | undefined
}) {
  const [lines, setLines] = useState(() => linesOf(value))
  const set = (next: readonly Line[]) => {
    setLines([...next])
    onChange(schemaOf(next))
  }
  if (!lines) {
    return (
      <div className="space-y-2">
        <JsonField label="JSON Schema of the input" rows={12} value={value} onChange={onChange} error={error} />
        {linesOf(value) && (
          <Button variant="quiet" onClick={() => setLines(linesOf(value))}>
            Edit as form
          </Button>
        )}
      </div>
    )
  }
  const change = (index: number, part: Partial<Line>) => set(lines.with(index, { ...(lines[index] as Line), ...part }))
  return (
    <div className="space-y-3">
      {lines.length === 0 && <p className="text-sm text-soft">No input fields yet.</p>}
      {lines.map((line, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: names are not unique while typing
          key={index}
          className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-2 border-b border-line pb-3 last:border-0 md:grid-cols-[minmax(0,11rem)_8rem_minmax(0,1fr)_auto_auto]"
        >
          <input
            aria-label={`Field ${index + 1}: name`}
            placeholder="name"
            className="control font-mono text-sm"
            value={line.name}
            onChange={(event) => change(index, { name: event.target.value })}
          />
          <select
            aria-label={`Field ${index + 1}: type`}
            className="control text-sm"
            value={line.type}
            onChange={(event) => change(index, { type: event.target.value })}
          >
            {simple.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </select>
          <input
            aria-label={`Field ${index + 1}: description`}
            placeholder="Description for models"
            className="control col-span-2 text-sm md:col-span-1"
            value={line.description}
            onChange={(event) => change(index, { description: event.target.value })}
          />
          <label className="flex items-center gap-1.5 text-sm">
            <input
              type="checkbox"
              className="accent-accent"
              checked={line.isRequired}
              onChange={(event) => change(index, { isRequired: event.target.checked })}
            />
            required
          </label>
          <IconButton
            label={`Remove field ${line.name || index + 1}`}
            icon="close"
            onClick={() => set(lines.toSpliced(index, 1))}
          />
        </div>
      ))}
      {error && <p className="text-xs text-bad">{error}</p>}
      <div className="flex flex-wrap gap-2">
        <Button
          icon="plus"
          onClick={() => set([...lines, { name: '', type: 'string', isRequired: true, description: '' }])}
        >
          Add a field
        </Button>
        <Button variant="quiet" onClick={() => setLines(undefined)}>
          Edit as JSON Schema
        </Button>
      </div>
    </div>
  )
}
