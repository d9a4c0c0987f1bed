import { Button, IconButton } from '../../ui/button.tsx'
import type { PriceLine } from './draft.ts'

const fields = [
  ['input', 'Input'],
  ['output', 'Output'],
  ['cached', 'Kept input'],
] as const

/** Dollars for a million tokens, model by model. */
export function PricesField({
  prices,
  onChange,
  error,
}: {
  prices: readonly PriceLine[]
  onChange: (prices: readonly PriceLine[]) => void
  error: string | undefined
}) {
  const change = (index: number, part: Partial<PriceLine>) =>
    onChange(prices.map((line, place) => (place === index ? { ...line, ...part } : line)))
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">Prices</legend>
      <div className="space-y-2">
        {prices.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: while it is typed, a name is no key
          <div key={index} className="grid grid-cols-[1fr_1fr_1fr_auto] gap-1.5 md:grid-cols-[2fr_1fr_1fr_1fr_auto]">
            <input
              aria-label={`Price ${index + 1}: model`}
              className="control col-span-3 font-mono text-sm md:col-span-1"
              placeholder="Model, or * for every other"
              value={line.model}
              onChange={(event) => change(index, { model: event.target.value })}
            />
            {fields.map(([name, label]) => (
              <input
                key={name}
                aria-label={`Price ${index + 1}: ${label.toLowerCase()}`}
                className="control order-last text-sm tabular-nums md:order-none"
                type="number"
                min={0}
                step="any"
                placeholder={label}
                required={name !== 'cached' && line.model.trim() !== ''}
                value={line[name]}
                onChange={(event) => change(index, { [name]: event.target.value })}
              />
            ))}
            <IconButton
              label={`Remove the price of ${line.model || `line ${index + 1}`}`}
              icon="close"
              onClick={() => onChange(prices.toSpliced(index, 1))}
            />
          </div>
        ))}
        <Button icon="plus" onClick={() => onChange([...prices, { model: '', input: '', output: '', cached: '' }])}>
          Add a price
        </Button>
      </div>
      {error && <p className="mt-1 text-xs text-bad">{error}</p>}
      <p className="mt-1 text-xs text-soft">
        US dollars for a million tokens. With them, each run tells what it cost; * stands for every other model.
      </p>
    </fieldset>
  )
}
