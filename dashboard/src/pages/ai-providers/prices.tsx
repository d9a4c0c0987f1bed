import { Button, IconButton } from '../../ui/button.tsx'
import type { PriceLine } from './draft.ts'

const fields = [
  ['input', 'Input'],
  ['output', 'Output'],
  ['cached', 'Cached input'],
] as const

/** US dollars per million tokens, by model. */
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
          // biome-ignore lint/suspicious/noArrayIndexKey: names are not unique while typing
          <div key={index} className="grid grid-cols-[1fr_1fr_1fr_auto] gap-1.5 md:grid-cols-[2fr_1fr_1fr_1fr_auto]">
            <input
              aria-label={`Price ${index + 1}: model`}
              className="control col-span-3 font-mono text-sm md:col-span-1"
              placeholder="Model, or * for all others"
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
              label={`Remove price of ${line.model || `line ${index + 1}`}`}
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
        US dollars per million tokens, used to calculate the cost of each run. * applies to all other models.
      </p>
    </fieldset>
  )
}
