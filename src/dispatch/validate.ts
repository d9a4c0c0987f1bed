import type { Offer } from '../catalogue/catalogue.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import type { JsonObject } from '../model/json.ts'
import type { Preset, Valid } from './call.ts'

/** Checks the merged input, and says everything that is wrong with it, but nothing about what is fixed. */
export function validate(call: Preset): Valid {
  const errors = faultsOf(call.offer, call.merged)
  if (errors.length === 0) return { ...call, valid: true }
  throw new PlatformError('VALIDATION_FAILED', { errors })
}

export function faultsOf(offer: Offer, merged: JsonObject): readonly Fault[] {
  const faults = offer.check()(merged)
  return faults.length === 0 ? faults : withoutPresets(faults, Object.keys(offer.presets))
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
