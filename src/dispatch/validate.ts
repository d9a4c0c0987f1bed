import type { Offer } from '../catalogue/catalogue.ts'
import type { JsonObject } from '../lib/json.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import type { Preset, Valid } from './call.ts'

/** Checks the merged input, and lists everything that is wrong with it, but nothing about what is fixed. */
export function validate(call: Preset): Valid | Promise<Valid> {
  const judge = (errors: readonly Fault[]): Valid => {
    if (errors.length === 0) return { ...call, valid: true }
    throw new PlatformError('VALIDATION_FAILED', { errors })
  }
  const faults = faultsOf(call.offer, call.merged)
  return faults instanceof Promise ? faults.then(judge) : judge(faults)
}

/** A promise where the schema or the input is so large that another thread checks it. */
export function faultsOf(offer: Offer, merged: JsonObject): readonly Fault[] | Promise<readonly Fault[]> {
  const shown = (faults: readonly Fault[]) =>
    faults.length === 0 ? faults : withoutPresets(faults, Object.keys(offer.presets))
  const faults = offer.check()(merged)
  return faults instanceof Promise ? faults.then(shown) : shown(faults)
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
