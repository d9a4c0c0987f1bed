import { Button, IconButton } from './button.tsx'

export type Pairs = readonly (readonly [name: string, value: string])[]

export const toPairs = (record: Record<string, string> | null | undefined): Pairs => Object.entries(record ?? {})
export const fromPairs = (pairs: Pairs): Record<string, string> =>
  Object.fromEntries(pairs.filter(([name]) => name.trim() !== ''))

/** Edits names and values, such as headers. */
export function PairsField({
  label,
  hint,
  error,
  pairs,
  onChange,
  add,
}: {
  label: string
  hint?: string
  error?: string | undefined
  pairs: Pairs
  onChange: (pairs: Pairs) => void
  add: string
}) {
  const change = (index: number, pair: readonly [string, string]) => onChange(pairs.with(index, pair))
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">{label}</legend>
      <div className="space-y-1.5">
        {pairs.map(([name, value], index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names are not unique while typing
          <div key={index} className="flex gap-1.5">
            <input
              aria-label={`${label}: name ${index + 1}`}
              className="control w-2/5 font-mono text-sm"
              placeholder="Name"
              value={name}
              onChange={(event) => change(index, [event.target.value, value])}
            />
            <input
              aria-label={`${label}: value ${index + 1}`}
              className="control flex-1 font-mono text-sm"
              placeholder="Value"
              value={value}
              onChange={(event) => change(index, [name, event.target.value])}
            />
            <IconButton
              label={`Remove ${name || `line ${index + 1}`}`}
              icon="close"
              onClick={() => onChange(pairs.toSpliced(index, 1))}
            />
          </div>
        ))}
        <Button icon="plus" onClick={() => onChange([...pairs, ['', '']])}>
          {add}
        </Button>
      </div>
      {error ? (
        <p className="mt-1 text-xs text-bad">{error}</p>
      ) : (
        hint && <p className="mt-1 text-xs text-soft">{hint}</p>
      )}
    </fieldset>
  )
}
