import type { PreparedAction } from '../catalogue/catalogue.ts'
import type { JsonObject } from '../lib/json.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import type { PreparedCall, ValidCall } from './call.ts'

/** Validates the merged input. Reports all faults, but without details about preset parameters. */
export function validate(call: PreparedCall): ValidCall | Promise<ValidCall> {
  const judge = (errors: readonly Fault[]): ValidCall => {
    if (errors.length === 0) return { ...call, valid: true }
    throw new PlatformError('VALIDATION_FAILED', { errors })
  }
  const faults = faultsOf(call.prepared, call.merged)
  return faults instanceof Promise ? faults.then(judge) : judge(faults)
}

/** Returns a promise if the schema or the input is so large that a worker thread checks it. */
export function faultsOf(prepared: PreparedAction, merged: JsonObject): readonly Fault[] | Promise<readonly Fault[]> {
  const shown = (faults: readonly Fault[]) =>
    faults.length === 0 ? faults : withoutPresets(faults, Object.keys(prepared.presets))
  const faults = prepared.check()(merged)
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
          message: 'a preset of the tool does not match its schema: ask the tool’s owner to fix it',
        },
      ]
}
