import { type Fault, PlatformError } from '../model/errors.ts'
import type { Preset, Valid } from './call.ts'

/** Checks the merged input, and says everything that is wrong with it, but nothing about what is fixed. */
export function validate(call: Preset): Valid {
  const faults = call.offer.check()(call.merged)
  if (faults.length === 0) return { ...call, valid: true }
  throw new PlatformError('VALIDATION_FAILED', { errors: withoutPresets(faults, Object.keys(call.offer.presets)) })
}

function withoutPresets(faults: readonly Fault[], hidden: readonly string[]): Fault[] {
  const isHidden = ({ path }: Fault) =>
    hidden.some((key) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`))
  const shown = faults.filter((fault) => !isHidden(fault))
  return shown.length === faults.length
    ? shown
    : [
        ...shown,
        {
          path: '',
          message: 'a value that is fixed on the tool does not fit it: whoever manages the tool can mend that',
        },
      ]
}
