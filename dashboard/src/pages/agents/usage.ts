import { count } from '../../format.ts'

export interface Usage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost: number | null
}

/** US dollars, with enough digits for small amounts. */
export function money(cost: number | null): string | null {
  if (cost === null) return null
  if (cost === 0) return '$0'
  return `$${cost.toFixed(cost >= 1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(cost)) + 1))}`
}

export const tokens = ({ input_tokens, output_tokens }: Usage): string =>
  `${count(input_tokens)} in, ${count(output_tokens)} out`

/** The sum. Its cost is unknown if any cost is. */
export const sum = (usages: readonly Usage[]): Usage =>
  usages.reduce(
    (all, one) => ({
      input_tokens: all.input_tokens + one.input_tokens,
      output_tokens: all.output_tokens + one.output_tokens,
      cost: all.cost === null || one.cost === null ? null : all.cost + one.cost,
    }),
    { input_tokens: 0, output_tokens: 0, cost: 0 },
  )
