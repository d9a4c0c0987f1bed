import { unaliased } from '../catalogue/presets.ts'
import type { AuthorizedCall, PreparedCall } from './call.ts'

/** Presets override the caller's values, also under an alias of the field. */
export const preset = (call: AuthorizedCall): PreparedCall => ({
  ...call,
  merged: { ...unaliased(call.input, call.prepared.action), ...call.prepared.presets },
})
